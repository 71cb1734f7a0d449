// What each agent calls the jobs of its host, where the collector calls them otherwise (job_names.h).
//
// Commands go out under the names that the agent knows, and answers come back under the name that the command was for.
// Bounded: hosts as many as there are agents, kMaxWaiting commands without an answer, the oldest go. Thread-safe; never
// blocks.

#ifndef LOCKSTEP_COLLECTOR_SENT_JOB_NAMES_H_
#define LOCKSTEP_COLLECTOR_SENT_JOB_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class SentJobNames {
 public:
  static constexpr size_t kMaxHosts = 20'000;  // as many as the registry of agents knows
  static constexpr size_t kMaxWaiting = 4'096;

  // The jobs of the processes of a report, in their order.
  static std::vector<std::string> JobsOf(const wire::AgentReport& report);

  // `host` has sent `report`, whose processes had the jobs `sent` before they were given others.
  void Note(const std::string& host, const std::vector<std::string>& sent, const wire::AgentReport& report);

  // Puts the names into `command` that the agent of `host` knows its job by.
  void Address(const std::string& host, wire::Command& command);

  // Gives the answers in `report` of `host` the jobs that their commands were for.
  void TakeBack(const std::string& host, wire::AgentReport& report);

 private:
  using Names = std::map<std::string, std::vector<std::string>>;  // sent ones by job
  using CommandKey = std::pair<std::string, uint64_t>;            // host, id

  Mutex mutex_;
  std::map<std::string, Names> hosts_ ABSL_GUARDED_BY(mutex_);  // only those with a job of another name
  std::map<CommandKey, std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  std::deque<CommandKey> order_ ABSL_GUARDED_BY(mutex_);  // of waiting_, also of answered ones
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_SENT_JOB_NAMES_H_
