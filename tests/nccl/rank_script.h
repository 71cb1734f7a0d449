// A random life of one rank, from a seed: one thread launches groups of operations, another one delivers what their
// kernels and proxies do, in the awkward orders that NCCL allows itself (see Awkwardness). What happened is kept.

#ifndef LOCKSTEP_TESTS_NCCL_RANK_SCRIPT_H_
#define LOCKSTEP_TESTS_NCCL_RANK_SCRIPT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "tests/nccl/played_proxy.h"
#include "tests/nccl/played_rank.h"

namespace lockstep::nccl {

// How a script ends.
enum class Ending {
  kComplete,  // everything finishes
  kHang,      // the last kLeftBehind operations stay: the first of them runs, the others never begin
};

// Thread-compatible plain value.
struct ScriptOptions {
  uint64_t seed = 1;
  int operations = 200;  // roughly: groups are not cut
  Ending ending = Ending::kComplete;
  bool has_awkward_orders = true;  // false = as NCCL does on a good day
  // 0 = nobody else writes NCCL's mask; else the script writes these bits for a while, as a RAS client may.
  uint32_t foreign_mask = 0;
};

// The functions are called from two threads as named; the results are read when both have returned.
class RankScript {
 public:
  static constexpr int kLeftBehind = 3;

  // `mask` is NCCL's word.
  RankScript(PlayedRank& rank, int32_t* mask, const ScriptOptions& options)
      : rank_(rank), mask_(mask), options_(options), launch_random_(options.seed), progress_random_(~options.seed) {}

  void Launch();    // launching thread
  void Progress();  // progress thread

  const std::deque<PlayedOperation>& operations() const { return operations_; }
  const WaitTable& waits() const { return waits_; }

 private:
  // A delivery of the progress thread.
  struct Delivery {
    PlayedOperation* operation;
    int32_t channel;
    int64_t begin_ns;
    int64_t end_ns;
    bool has_begun;
  };

  PlayedOperation& NewOperation();
  void DrawOperation(Operation& operation);
  void LaunchGroup();
  void LaunchGraph();
  void MeddleWithMask();
  void Publish(PlayedOperation* operation);
  std::vector<PlayedOperation*> TakeBatch();
  void RunKernels(const std::vector<PlayedOperation*>& batch);
  void Deliver(std::vector<Delivery> deliveries);
  void BeginForGood(PlayedOperation& operation);

  PlayedRank& rank_;
  int32_t* const mask_;
  const ScriptOptions options_;
  Random launch_random_;
  Random progress_random_;
  std::deque<PlayedOperation> operations_;  // grows at the end; addresses stay
  WaitTable waits_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<PlayedOperation*> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_complete_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_RANK_SCRIPT_H_
