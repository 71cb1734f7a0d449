// Where the processes of a played job tell each other when their kernels began: what a collective waits for. A file of
// fixed size that all map.
//
// Thread-safe, also between processes. Holds the newest kOperations of each rank.

#ifndef LOCKSTEP_TESTS_NCCL_ARRIVAL_BOARD_H_
#define LOCKSTEP_TESTS_NCCL_ARRIVAL_BOARD_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace lockstep::nccl {

class ArrivalBoard {
 public:
  static constexpr int kOperations = 64;
  static constexpr int kMaxRanks = 16;

  // Maps `path`, which is made when it does not exist. The process ends if that fails.
  explicit ArrivalBoard(const std::string& path);
  ArrivalBoard(const ArrivalBoard&) = delete;
  ArrivalBoard& operator=(const ArrivalBoard&) = delete;

  // Rank `rank` began its operation number `operation` at `at_ns` (CLOCK_MONOTONIC).
  void Arrive(uint64_t operation, int rank, int64_t at_ns);

  // When the last of ranks [first, last] began it; 0 = somebody has not.
  int64_t LastArrival(uint64_t operation, int first, int last) const;

 private:
  struct Arrival {
    std::atomic<uint64_t> operation;  // number + 1; written last
    std::atomic<int64_t> at_ns;
  };
  Arrival& At(uint64_t operation, int rank) const { return arrivals_[operation % kOperations * kMaxRanks + rank]; }

  Arrival* arrivals_ = nullptr;
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_ARRIVAL_BOARD_H_
