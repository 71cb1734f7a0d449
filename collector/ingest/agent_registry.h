// Who sends: every agent seen lately, by host, with the ledger of its present incarnation.
//
// A host has one agent. A new incarnation, or a second connection of the same one, takes the place of the connection
// before, which is closed: a half-open connection must not lock its agent out. Two living agents of one host take
// turns: that is counted and warned of, once a minute and host. Who connects has time to report, once: one that ends
// and starts again without a report is as silent as one that is dead. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INGEST_AGENT_REGISTRY_H_
#define LOCKSTEP_COLLECTOR_INGEST_AGENT_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/ingest/agent_ledger.h"
#include "collector/ingest/host_takeovers.h"
#include "detector/model/place_table.h"
#include "proto/ingest.pb.h"

namespace lockstep {

struct AgentRegistryOptions {
  size_t max_agents = 20'000;                   // known at the same time
  int64_t forget_after_ns = 3'600'000'000'000;  // disconnected for this long
  int64_t silent_after_ns = 15'000'000'000;     // without a report for this long
};

// One agent as `lockstep status` shows it.
struct AgentView {
  std::string host;
  std::string version;
  bool connected = false;
  bool silent = false;
  int64_t last_report_wall_ns = 0;  // 0 = none since the collector was started
  uint64_t last_sequence = 0;
};

class AgentRegistry {
 public:
  AgentRegistry(const AgentRegistryOptions& options, const Clock& clock);

  // From now on agents are silent after this long.
  void SetSilentAfter(int64_t nanos) { silent_after_ns_ = nanos; }

  // The ledger of this incarnation, or nullptr if the store has to be asked how far it got.
  std::shared_ptr<AgentLedger> Find(const std::string& host, uint64_t incarnation) const;

  // What an agent said of itself.
  struct Hello {
    std::string host;
    uint64_t incarnation = 0;
    std::string version;
    Places places = {};
    uint64_t sender = 0;                 // incarnation of the process, if it delivers what another has left; else 0
    std::set<std::string> demands = {};  // kinds of demand that it carries out
  };
  // Connects `stream` to the ledger of this incarnation, which begins at `stored_sequence` if it is new.
  // RESOURCE_EXHAUSTED when too many agents are connected.
  absl::StatusOr<std::shared_ptr<AgentLedger>> Connect(const Hello& hello, uint64_t stored_sequence,
                                                       const std::shared_ptr<AgentStream>& stream);

  // How often since the last call an agent took its host back from another living one.
  uint64_t TakeConflicts();

  // Sends a command to the agent of `host`. False = it is not connected, or takes no more.
  bool Send(const std::string& host, const wire::Command& command) const;

  // Whether the agent of `host` is connected and has said that it carries out demands of this kind.
  bool Offers(const std::string& host, absl::string_view kind) const;

  // Rewinds every ledger that lost a report; see AgentLedger::Rewind. Returns how many.
  int RewindLost();

  // Forgets agents that are long gone. To be called every now and then.
  void ForgetGone();

  std::vector<AgentView> agents() const;  // by host

 private:
  struct Agent {
    std::shared_ptr<AgentLedger> ledger;
    std::string version;
    std::set<std::string> demands;
    uint64_t sender = 0;                // incarnation of the process at the other end of the last stream
    int64_t former_report_wall_ns = 0;  // the last one of incarnations before; 0 = none
    int64_t awaited_since_wall_ns = 0;  // the first hello after the last report before it
    int64_t seen_wall_ns = 0;           // connected, or found connected by ForgetGone
    HostTakeovers takeovers;
  };

  // The process at the other end of a stream.
  struct Sender {
    uint64_t incarnation;
    std::string peer;
  };
  // Counts and warns if `winner`, which has just taken the place of `loser`, had lost it to another agent before.
  void NoteTakeover(const std::string& host, const Sender& winner, const Sender& loser);

  // Its last report, of whichever incarnation; 0 = none.
  static int64_t LastReport(const Agent& agent);

  bool MakeRoomLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const AgentRegistryOptions options_;
  const Clock& clock_;
  std::atomic<int64_t> silent_after_ns_;
  mutable Mutex mutex_;
  std::map<std::string, Agent> agents_ ABSL_GUARDED_BY(mutex_);
  uint64_t conflicts_ ABSL_GUARDED_BY(mutex_) = 0;  // not yet taken
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_AGENT_REGISTRY_H_
