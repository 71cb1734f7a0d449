// Collects what the files of one call say, job by job, and hands it over as evidence for the detector.
//
// Readers call it row by row, in any order and from any number of files: operation records, counters and kernel events
// of the same job end in one JobEvidence. Text is interned at once, so that views need to live only during a call.
//
// Memory: about 80 bytes per operation, 16 per sample. Beyond a limit rows are dropped and counted as lost. Not
// thread-safe.

#ifndef LOCKSTEP_FORMATS_EVIDENCE_BUILDER_H_
#define LOCKSTEP_FORMATS_EVIDENCE_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "detector/model/job_evidence.h"
#include "detector/model/place_table.h"
#include "detector/patterns/pattern_fleet.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/trace_collection.h"

namespace lockstep {

inline constexpr size_t kMaxJobs = 1024;
inline constexpr uint64_t kMaxSamples = uint64_t{256} << 20;
inline constexpr size_t kMaxSeries = size_t{4} << 20;  // of one job
inline constexpr size_t kMaxEvents = size_t{1} << 20;
inline constexpr size_t kMaxNotes = 20;

using JobIndex = int32_t;

struct SampleRow {
  absl::string_view host;
  absl::string_view device;  // "" = the host
  absl::string_view metric;
  int64_t time_ms = 0;
  double value = 0;
};

// A job, and what its readers want a person to know ("no process groups in the traces: ...").
struct JobInput {
  JobEvidence evidence;
  PatternFleet patterns;  // of those ranks that left a profile
  std::vector<std::string> notes;
};

class EvidenceBuilder {
 public:
  EvidenceBuilder();
  ~EvidenceBuilder();
  EvidenceBuilder(const EvidenceBuilder&) = delete;
  EvidenceBuilder& operator=(const EvidenceBuilder&) = delete;

  // The job called `name`, made at the first mention. Jobs beyond kMaxJobs are all the last one.
  JobIndex Job(absl::string_view name);
  std::vector<std::string> JobNames() const;

  void AddOperation(JobIndex job, const OperationRow& row);
  void DescribeRank(JobIndex job, const RankRow& row);

  // `ranks` by communicator rank, -1 = not known; `hint` is what the framework calls it.
  void DescribeCommunicator(JobIndex job, absl::string_view name, absl::string_view hint,
                            absl::Span<const int32_t> ranks);

  // Ranks 0 to world_size - 1 ought to have left records.
  void ExpectRanks(JobIndex job, int32_t world_size);

  void AddSample(JobIndex job, const SampleRow& row);
  void AddEvent(JobIndex job, const HostEvent& event);

  // What a rank spent its time on; without a rank it is left out. The first profile of a rank counts.
  void AddPatterns(JobIndex job, const RankPatterns& patterns);

  // Where a host stands; the newest counts. Hosts beyond kMaxPlacedHosts are left out.
  void PlaceHost(JobIndex job, absl::string_view host, const Places& places);

  // Records that a recorder or a reader threw away.
  void AddLost(JobIndex job, uint64_t records);

  // A sentence. Each once; those beyond kMaxNotes are dropped.
  void AddNote(JobIndex job, std::string note);

  // Everything so far, by order of first mention. The builder is empty afterwards.
  std::vector<JobInput> Finish();

 private:
  struct JobParts;

  std::vector<std::unique_ptr<JobParts>> jobs_;
  absl::flat_hash_map<std::string, JobIndex> job_by_name_;
  uint64_t samples_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_EVIDENCE_BUILDER_H_
