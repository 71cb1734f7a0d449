// The detector of one job: reports in, verdicts out.
//
// Progress counters tell who hangs, at once. What makes a moving job slow or irregular is told by looks: windows of
// operations that agents still hold, pulled and judged by the code that judges files (engine/close_look.h).
// A pure function of the sequence of Observe and Evaluate calls: no clock, thread, I/O, global or random choice, so
// that a replayed capture gives the same verdicts byte for byte. One engine belongs to one shard; not thread-safe.
// Memory is bounded by JobEngineOptions, whatever is observed; what was thrown away is counted in JobSummary.

#ifndef LOCKSTEP_DETECTOR_ENGINE_JOB_ENGINE_H_
#define LOCKSTEP_DETECTOR_ENGINE_JOB_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "detector/engine/rank_summary.h"
#include "detector/model/fleet_sight.h"
#include "detector/model/input.h"
#include "detector/model/place_table.h"
#include "detector/model/process_end.h"
#include "detector/model/rank_rivals.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct JobEngineOptions {
  double min_step_cost = 0.03;  // share of the step time that removing an accused rank or link would give back

  // Hang: stuck for max(floor, multiple x the job's own longest usual step).
  int64_t hang_floor_ns = 4'000'000'000;
  double hang_step_multiple = 5.0;
  // No report of a host for this long while the job stands still without it = machine unreachable. Eight reports at the
  // usual one per second: longer than a connection takes to break and come back. See also silent_job.h.
  int64_t host_silent_ns = 8'000'000'000;

  // Counters.
  int min_peer_hosts = 4;  // below this many hosts, distance to peers abstains: the tables of quality begin there

  // Limits.
  int max_ranks = 100'000;
  int max_communicators = 400'000;
  int max_series = 1'000'000;
};

// What to show of a job, besides verdicts.
struct JobSummary {
  JobState state = JobState::kUnknown;
  std::string note;                // why, in sentences
  bool is_well = false;            // nothing is wrong with what is known of it; healthy only if that is all of it
  int64_t steps = 0;               // completed since the engine began
  double steps_per_second = 0;     // 0 = unknown
  double step_seconds_median = 0;  // 0 = unknown
  int32_t world_size = -1;         // -1 = unknown
  uint64_t records_observed = 0;
  uint64_t records_lost = 0;       // by recorders and agents, as they reported
  uint64_t records_discarded = 0;  // by the limits of this engine
  // Reports of ranks that another process is, which lives: two jobs have one name. The newest, of the job as it runs.
  uint64_t name_conflicts = 0;
  std::optional<NameConflict> name_conflict;
};

class JobEngine {
 public:
  explicit JobEngine(const JobEngineOptions& options);
  ~JobEngine();
  JobEngine(const JobEngine&) = delete;
  JobEngine& operator=(const JobEngine&) = delete;

  // Takes in one report. `report.received_ns` must not decrease. Never fails: what contradicts itself is counted.
  void Observe(const HostReport& report);

  // Where a host stands, and what runs on it, as its agent says: the newest counts, and none forgets. Hosts beyond
  // kMaxPlacedHosts are counted as discarded.
  void ObservePlaces(const std::string& host, const Places& places);

  // Concludes from everything observed so far. `watermark_ns` (collector's clock) must not decrease and everything
  // received before it must have been observed. Returns all verdicts that hold now; one that is no longer returned no
  // longer holds. `can_conclude` false means "no data to judge by": the caller must not read that as health, and what
  // holds then is only that hosts are missed. `fleet` counts where no host of the job reports.
  struct Conclusion {
    std::vector<Verdict> verdicts;  // by cause key
    bool can_conclude = false;
    // False until all that is judged of a job was judged once since the engine began, or since the newest Resume.
    // Before that a cause that an earlier engine found, and this one does not, may still hold.
    bool has_judged = false;
    std::vector<PullRequest> requests;  // new wishes; the answers come inside later reports, or never
    std::vector<WatchRequest> watches;
    std::vector<Verdict> remarks;  // what holds as well, and nobody is called for: pauses that cost little
  };
  Conclusion Evaluate(int64_t watermark_ns, const FleetSight& fleet = {});

  // Nobody listened until `watermark_ns`: that hosts were silent before it is no fault of theirs.
  void Resume(int64_t watermark_ns);

  JobSummary summary() const;
  std::vector<RankSummary> ranks() const;  // by rank
  // Of the newest look that knew steps. Valid until the next call that changes something.
  const SeenLedger& ledger() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_JOB_ENGINE_H_
