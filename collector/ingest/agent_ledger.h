// What has become of the reports of one agent incarnation: accepted, then stored, then acknowledged.
//
// A report is stored when all of its slices are, and is acknowledged when every accepted report before it is stored as
// well. Reports that could not be kept (the store refused for too long) block the acknowledgements behind them until
// Rewind, after which the agent sends them again. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INGEST_AGENT_LEDGER_H_
#define LOCKSTEP_COLLECTOR_INGEST_AGENT_LEDGER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "detector/model/place_table.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// The connection of an agent, as the rest of the collector sees it. Thread-safe; never blocks.
class AgentStream {
 public:
  virtual ~AgentStream() = default;

  // Reports up to `sequence` are stored: tell the agent.
  virtual void OnStored(uint64_t sequence) = 0;

  // A queue that was full may have room again.
  virtual void Resume() = 0;

  // Sends a command, after those before it. False = too many wait, or the agent has not been admitted.
  virtual bool Send(const wire::Command& command) = 0;

  // Where the agent is, as the transport says it: "ipv4:10.0.0.7:40312".
  virtual std::string peer() const = 0;

  // Ends the stream with `status`.
  virtual void Close(const absl::Status& status) = 0;
};

class AgentLedger {
 public:
  // The place of one accepted report in the ledger; travels with each of its slices.
  struct Ticket {
    std::shared_ptr<AgentLedger> ledger;
    uint64_t sequence = 0;
    uint32_t epoch = 0;
  };

  AgentLedger(std::string host, uint64_t incarnation, uint64_t stored_sequence, Places places = {});

  const std::string& host() const { return host_; }
  const Places& places() const { return places_; }  // of the host, as the agent said hello
  uint64_t incarnation() const { return incarnation_; }

  // Enters a report of `slices` slices, received at `wall_ns`; the epoch of its tickets, or nullopt for a report that
  // was already accepted.
  std::optional<uint32_t> Accept(uint64_t sequence, int slices, int64_t wall_ns);

  // Whether `sequence` was accepted before: it need not be looked at.
  bool IsDuplicate(uint64_t sequence) const;

  // One slice of the ticket's report is part of the batch that is about to be stored.
  void CompleteSlice(const Ticket& ticket);

  // The newest report up to which all are complete: what the batch that is about to be stored may vouch for.
  uint64_t completed_sequence() const;

  // The batch is stored: acknowledges to the connected stream.
  void PublishStored(uint64_t sequence);

  // A slice was thrown away; see Rewind.
  void MarkLost();

  // If a slice was lost: forgets all that is not stored, so that it is accepted again, and closes the stream, so that
  // the agent sends it again. True if there was anything to do.
  bool Rewind();

  // Whether the report belongs to what Rewind has forgotten.
  bool IsStale(const Ticket& ticket) const;

  // Sends a command over the attached stream. False = there is none, or it takes no more.
  bool Send(const wire::Command& command) const;

  // The stream to acknowledge to; replaces the one before, which is returned (nullptr if gone).
  std::shared_ptr<AgentStream> Attach(const std::shared_ptr<AgentStream>& stream);

  // Ends the attachment, if `stream` is still the attached one.
  void Detach(const AgentStream* stream);

  bool connected() const;
  uint64_t stored_sequence() const;
  uint64_t accepted_sequence() const;
  int64_t last_report_wall_ns() const;  // 0 = never

 private:
  struct Pending {
    uint64_t sequence;
    int slices_left;
  };

  const std::string host_;
  const uint64_t incarnation_;
  const Places places_;
  mutable Mutex mutex_;
  uint64_t accepted_ ABSL_GUARDED_BY(mutex_);
  uint64_t completed_ ABSL_GUARDED_BY(mutex_);
  uint64_t stored_ ABSL_GUARDED_BY(mutex_);
  uint32_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t last_report_wall_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);  // by sequence; bounded by the queues behind it
  std::weak_ptr<AgentStream> stream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_AGENT_LEDGER_H_
