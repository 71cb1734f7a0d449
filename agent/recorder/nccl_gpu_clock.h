// Places a GPU's globaltimer on the host's clock, with a bound of the error, from nothing but causality.
//
// A kernel begins after the host has enqueued it, and the host hears of a moment on the GPU after that moment. Each
// such pair bounds the offset between the clocks from one side; the tightest of the last half second is kept, and the
// middle between both sides is the mapping (the one-way form of Cristian's algorithm, "Probabilistic clock
// synchronization", 1989, with the minimum filter of NTP). Half the gap, and what the clocks may drift within the
// window (50 ppm), is the error. When the sides contradict each other the window is begun anew.
//
// Durations need no mapping: they are differences on the GPU. Thread-safe: races cost accuracy within the bounds that
// the other thread saw, nothing else. Zeroed memory until Reset, which comes first.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_GPU_CLOCK_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_GPU_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace lockstep::ring {

class GpuClock {
 public:
  static constexpr int kBucketBits = 28;                                     // 0.27 s
  static constexpr int64_t kDriftNs = (int64_t{2} << kBucketBits) / 20'000;  // 50 ppm of two buckets

  struct Mapping {
    int64_t offset_ns = 0;  // host = GPU + offset
    int64_t error_ns = -1;  // the offset is off by at most this; negative = there is no mapping
  };

  constexpr GpuClock() = default;
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // The moment `gpu_ns` lies between `earliest_ns` and `latest_ns`, which is now (0 as `earliest_ns` = not known).
  void Observe(int64_t gpu_ns, int64_t earliest_ns, int64_t latest_ns) {
    Turn(latest_ns >> kBucketBits);
    Lower(latest_[0], latest_ns - gpu_ns);
    if (earliest_ns != 0) Raise(earliest_[0], earliest_ns - gpu_ns);
  }
  // It does not lie before `earliest_ns`, and when it was heard of is not known.
  void ObserveEarliest(int64_t gpu_ns, int64_t earliest_ns) {
    Turn(earliest_ns >> kBucketBits);
    Raise(earliest_[0], earliest_ns - gpu_ns);
  }

  Mapping Map() const {
    const int64_t newest = Between(earliest_[0], latest_[0]);
    const int64_t low = Max(Load(earliest_[0]), Load(earliest_[1]));
    const int64_t high = Min(Load(latest_[0]), Load(latest_[1]));
    if (low <= high + 2 * kDriftNs) return Middle(low, high);
    return newest >= -2 * kDriftNs ? Middle(Load(earliest_[0]), Load(latest_[0])) : Mapping{};
  }

  void Reset() {
    bucket_.store(INT64_MIN, std::memory_order_relaxed);
    for (int i = 0; i < 2; ++i) {
      earliest_[i].store(kNothingEarlier, std::memory_order_relaxed);
      latest_[i].store(kNothingLater, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int64_t kNothingEarlier = INT64_MIN / 4;
  static constexpr int64_t kNothingLater = INT64_MAX / 4;
  using Bound = std::atomic<int64_t>;

  static int64_t Load(const Bound& bound) { return bound.load(std::memory_order_relaxed); }
  static int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }
  static int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
  static void Lower(Bound& bound, int64_t value) {
    if (value < Load(bound)) bound.store(value, std::memory_order_relaxed);
  }
  static void Raise(Bound& bound, int64_t value) {
    if (value > Load(bound)) bound.store(value, std::memory_order_relaxed);
  }
  static int64_t Between(const Bound& low, const Bound& high) { return Load(high) - Load(low); }

  static Mapping Middle(int64_t low, int64_t high) {
    if (low == kNothingEarlier || high == kNothingLater) return {};
    const int64_t gap = high - low;
    return {low + gap / 2, (gap < 0 ? -gap : gap) / 2 + kDriftNs};
  }

  void Turn(int64_t bucket) {
    const int64_t before = bucket_.load(std::memory_order_relaxed);
    if (bucket <= before) return;
    const bool follows = bucket == before + 1;
    earliest_[1].store(follows ? Load(earliest_[0]) : kNothingEarlier, std::memory_order_relaxed);
    latest_[1].store(follows ? Load(latest_[0]) : kNothingLater, std::memory_order_relaxed);
    earliest_[0].store(kNothingEarlier, std::memory_order_relaxed);
    latest_[0].store(kNothingLater, std::memory_order_relaxed);
    bucket_.store(bucket, std::memory_order_relaxed);
  }

  std::atomic<int64_t> bucket_{0};
  // Of the offset; [0] = in this bucket, [1] = in the one before.
  Bound earliest_[2] = {};
  Bound latest_[2] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_GPU_CLOCK_H_
