// The patterns of all ranks of a job, function by function: 28 bytes for each function of each rank.
//
// Names are kept once. Functions beyond kMostFleetFunctions and second profiles of a rank are left out and counted.
// Thread-compatible.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_PATTERN_FLEET_H_
#define LOCKSTEP_DETECTOR_PATTERNS_PATTERN_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"

namespace lockstep {

inline constexpr size_t kMostFleetFunctions = 8192;  // a rank keeps a hundred or so; names differ over frameworks

// As FunctionPattern, of one worker.
struct PatternCell {
  uint32_t worker = 0;  // index in workers()
  float beta = 0;
  float calls_per_second = 0;
  float mean_seconds = 0;
  float spread = 0;
  float mu = 0;
  float sigma = 0;
};

struct FleetFunction {
  FunctionKind kind = FunctionKind::kPython;
  FunctionGroup group = FunctionGroup::kOtherHost;
  Utilisation utilisation = Utilisation::kNone;
  std::string name;
  std::vector<PatternCell> cells;  // by worker
};

struct FleetWorker {
  int32_t rank = -1;
  int32_t duty = -1;  // workers of equal duty do the same work; -1 = not known
  float window_seconds = 0;
  int32_t steps = 0;
  float idle = 0;
};

class PatternFleet {
 public:
  // False for a rank that is there already: its first profile stays.
  bool Add(const RankPatterns& patterns, int32_t duty = -1);

  // The same piece by piece: a worker, then its functions, each at most once.
  uint32_t AddWorker(const FleetWorker& worker);
  // -1 = one too many.
  int32_t Function(FunctionKind kind, absl::string_view name, Utilisation utilisation);
  void AddCell(int32_t function, const PatternCell& cell);

  const std::vector<FleetWorker>& workers() const { return workers_; }
  const std::vector<FleetFunction>& functions() const { return functions_; }
  std::vector<FleetWorker>& mutable_workers() { return workers_; }
  uint64_t left_out_cells() const { return left_out_cells_; }
  uint64_t repeated_ranks() const { return repeated_ranks_; }

 private:
  std::vector<FleetWorker> workers_;
  std::vector<FleetFunction> functions_;
  absl::flat_hash_map<std::string, int32_t> function_by_name_;
  absl::flat_hash_map<int32_t, uint32_t> worker_by_rank_;
  uint64_t left_out_cells_ = 0;
  uint64_t repeated_ranks_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_PATTERN_FLEET_H_
