// Which run at a meeting place a process is of: two jobs that meet at one address, one after the other, are two.
//
// A job that nobody has named is called after the address where its processes meet (agent/recorder/job_identity.h),
// and the next job may meet there, too. So the name gets the second in which the run's first ring was made:
// "torch-node-1:29500-20260102T030405Z". A process is of a run that its launcher (the parent, torchrun for example) has
// started a process of before, on the same host: what torchrun starts again is the same job. Else it is of a run that
// lives at the same time: two jobs cannot listen at one address at once. Else it is the first of a new run. When that
// splits a job (all of it ended, and a host that is new to it comes first), a communicator unites it (job_names.h).
//
// Runs of several users or namespaces are told apart. Agents of releases that do not tell since when a process is
// recorded have their names unchanged. Bounded: kMaxProcesses; what does not fit keeps its name, and is counted.
// Thread-safe; never blocks.

#ifndef LOCKSTEP_COLLECTOR_PLACE_RUNS_H_
#define LOCKSTEP_COLLECTOR_PLACE_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "base/clock.h"
#include "base/mutex.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class PlaceRuns {
 public:
  static constexpr size_t kMaxProcesses = 100'000;
  // At one place; beyond, the one that ended first is forgotten.
  static constexpr size_t kMaxRuns = 16;
  // Of one run; processes of further ones are of it by when they live alone.
  static constexpr size_t kMaxLaunchers = 20'000;
  // A process that was not seen to end is taken to live for so long after its last report: reports of hosts differ in
  // age by the tick of their agents.
  static constexpr int64_t kLivesOnNanos = 10 * kNanosPerSecond;

  // Gives the processes of `report`, which `host` has made at `wall_ns` of the collector's time line, the names of
  // their runs.
  void Settle(const std::string& host, int64_t wall_ns, wire::AgentReport& report);

  // Takes in what an earlier life called the processes of `report`.
  void Restore(const std::string& host, const std::string& job, int64_t wall_ns, const wire::AgentReport& report);

  // Forgets processes and runs without a report for longer than `after_ns`. To be called every now and then.
  void ForgetSilent(int64_t wall_ns, int64_t after_ns);

  // How many processes did not fit since the last call.
  uint64_t TakeRefused();

 private:
  using ProcessKey = std::tuple<std::string, int32_t, uint64_t>;   // host, pid, start
  using LauncherKey = std::tuple<std::string, int32_t, uint64_t>;  // likewise
  using PlaceKey = std::tuple<std::string, std::string>;           // place, owner
  // From when until when something was seen to live.
  struct Life {
    int64_t from_ns = 0;
    int64_t to_ns = 0;
  };
  struct Run {
    std::string name;
    Life life;
    std::set<LauncherKey> launchers;
    std::map<ProcessKey, int64_t> alive;  // when each was seen alive last
  };
  struct Process {
    std::shared_ptr<Run> run;
    int64_t heard_ns = 0;
  };

  static PlaceKey PlaceOf(const wire::ProcessReport& process);
  // As the report of `wall_ns` tells.
  static Life LifeOf(int64_t wall_ns, const wire::ProcessReport& process);
  static bool IsOver(const wire::ProcessReport& process);
  static int64_t EndOf(const Run& run);

  std::shared_ptr<Run> FindLocked(const std::string& host, const Life& life, const wire::ProcessReport& process)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Run> MakeLocked(const PlaceKey& place, const std::string& name, const Life& life)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteLocked(const std::string& host, const Life& life, int64_t wall_ns, const wire::ProcessReport& process,
                  const std::shared_ptr<Run>& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<PlaceKey, std::list<std::shared_ptr<Run>>> runs_ ABSL_GUARDED_BY(mutex_);  // the newest first
  std::map<ProcessKey, Process> processes_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_PLACE_RUNS_H_
