// What the ranks of one job answer to a demand for profiles: gathered until all have answered, compared, and given to
// the shard of the job, so that it joins an incident and the ledger. Whether somebody or nobody has asked is the same.
//
// Answers come from agents: what is no profile is left out, with the reason of the first, and names become valid text.
// Bounded by the book of demands, which bounds answers and their bytes.

#ifndef LOCKSTEP_COLLECTOR_PROFILES_PROFILE_GATHERING_H_
#define LOCKSTEP_COLLECTOR_PROFILES_PROFILE_GATHERING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "collector/demands/demand_book.h"
#include "collector/incident/profile_evidence.h"
#include "collector/job_table.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"

namespace lockstep {

// What it works with. References are borrowed, and are thread-safe.
struct ProfileSinks {
  QueryWorker& worker;  // compares
  CollectorMetrics& metrics;
  // Has the task called by the thread to which the job belongs; false when that has too much to do.
  std::function<bool(const std::string& job, std::function<void(JobTable&)> task)> run_on_shard;
};

struct GatheredProfiles {
  JobProfile profile;   // of no rank: none has answered with one
  std::string why_not;  // of the first that has not
};

// Takes the answers of `awaited` ranks of `job`, from any thread; what `sinks` borrows has to outlive them. `incident`:
// because of which they are asked, and 0 = none. `done` is called once, after the last, by the thread of `worker` or,
// where that has too much to do, by that of the answer; may be nullptr.
DemandBook::Answer GatherProfiles(const ProfileSinks& sinks, const std::string& job, uint64_t incident, size_t awaited,
                                  std::function<void(const GatheredProfiles& gathered)> done);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_PROFILES_PROFILE_GATHERING_H_
