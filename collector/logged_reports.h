// How far the log of each job holds what each agent has reported, so that what is sent again is not logged again.
//
// Agents send again what was not acknowledged: after a restart of the collector, and after a slice was lost. Other
// slices of the same reports, and of later ones, may be in the logs of their jobs by then. What the log of a job holds
// of an agent is always the beginning of what that sent: once a slice is lost, later ones for the same job are refused
// until all are sent again. So one number per job and agent is enough, and reports stay in order.
//
// Memory: one small entry per job and host that was heard of within kKeptNanos. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_LOGGED_REPORTS_H_
#define LOCKSTEP_COLLECTOR_LOGGED_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "collector/ingest/agent_ledger.h"
#include "proto/capture.pb.h"

namespace lockstep {

class LoggedReports {
 public:
  // As long as the ledgers of agents that are gone (AgentRegistryOptions::forget_after_ns).
  static constexpr int64_t kKeptNanos = 3'600 * kNanosPerSecond;
  // Of one host: agents deliver what those before them have left.
  static constexpr size_t kMaxIncarnations = 4;

  // What is to be done with a slice.
  enum class Place {
    kNext,       // log it
    kSentAgain,  // log it: it goes on where one was lost
    kLogged,     // the log has it
    kTooSoon,    // one before it was lost: it will come again, behind that
  };
  // Of the next slice for `job`. What belongs to no ledger is always next.
  Place PlaceOf(const std::string& job, const AgentLedger::Ticket& ticket);

  // What became of a slice that was to be logged: the log has taken it at `now_ns`, or it was lost.
  void NoteLogged(const std::string& job, const AgentLedger::Ticket& ticket, int64_t now_ns);
  void NoteLost(const std::string& job, const AgentLedger::Ticket& ticket, int64_t now_ns);

  // What the log of an earlier life holds, in order.
  void Restore(const wire::CaptureInput& input, int64_t now_ns);

  // Forgets who was not heard of for long. O(entries).
  void Forget(int64_t now_ns);

 private:
  struct Position {
    uint64_t sequence = 0;    // the newest report in the log
    bool lacks_next = false;  // one behind it was lost
    int64_t heard_ns = 0;
  };
  using ByIncarnation = std::map<uint64_t, Position>;

  Position& At(const std::string& job, const std::string& host, uint64_t incarnation, int64_t now_ns);

  std::map<std::pair<std::string, std::string>, ByIncarnation> positions_;  // by job and host
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_LOGGED_REPORTS_H_
