// Hosts that should report: whoever has reported once, and whoever stands in the inventory, until somebody removes
// them.
//
// What has been seen is kept in history, so that a host which died while the collector was away is missed as well. A
// host is missing when it has been silent for `silent_after_ns`; right after the start of the collector everybody has
// as long to come back. Bounded by kMaxHosts; what does not fit is counted. No I/O: the caller stores what Note
// returns. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_EXPECTED_HOSTS_H_
#define LOCKSTEP_COLLECTOR_EXPECTED_HOSTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "collector/ingest/agent_registry.h"
#include "collector/store/history_store.h"

namespace lockstep {

struct MissingHost {
  std::string name;
  int64_t last_report_wall_ns = 0;  // 0 = never
  bool in_inventory = false;
};

class ExpectedHosts {
 public:
  static constexpr size_t kMaxHosts = kMaxSeenHosts;
  // How old the stored time of the last report of a host that reports may be: a restart tells it that much too early.
  static constexpr int64_t kRefreshNanos = 60'000'000'000;

  ExpectedHosts(int64_t silent_after_ns, int64_t started_wall_ns)
      : silent_after_ns_(silent_after_ns), started_wall_ns_(started_wall_ns) {}

  // From now on hosts are missing after this long.
  void SetSilentAfter(int64_t nanos) { silent_after_ns_ = nanos; }

  // What history knows. Before the first Note.
  void Restore(const std::vector<SeenHost>& hosts);

  // Replaces the inventory.
  void SetInventory(const std::set<std::string>& names);

  // Takes in who has reported; returns what is to be stored. What could not be must be given to NotStored.
  std::vector<SeenHost> Note(const std::vector<AgentView>& agents);
  void NotStored(const std::vector<SeenHost>& hosts);

  // By name.
  std::vector<MissingHost> Missing(const std::vector<AgentView>& agents, int64_t now_wall_ns) const;

  // Whether the host may be forgotten: NOT_FOUND, or FAILED_PRECONDITION for one that reports or is in the inventory.
  absl::Status CheckForget(const std::string& name, const std::vector<AgentView>& agents) const;
  // Forgets a host, until it reports again.
  void Forget(const std::string& name);

  // How many hosts did not fit since the last call.
  uint64_t TakeRefused();

 private:
  struct Seen {
    int64_t last_report_wall_ns = 0;
    int64_t stored_wall_ns = 0;  // as history has it; 0 = it does not
  };

  std::atomic<int64_t> silent_after_ns_;
  const int64_t started_wall_ns_;
  mutable Mutex mutex_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> inventory_ ABSL_GUARDED_BY(mutex_);
  // Last reports of hosts that were forgotten, while their agents are still known.
  std::map<std::string, int64_t> forgotten_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_EXPECTED_HOSTS_H_
