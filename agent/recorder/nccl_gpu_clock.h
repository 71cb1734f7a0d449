// Places a GPU's globaltimer on the host's clock by the tight side of causality.
//
// The host hears of a moment on the GPU after that moment, and often within microseconds: the progress thread polls. So
// heard - GPU time is the offset between the clocks plus a delay, and its lower envelope is the offset itself. The
// other side, "a kernel begins after it was enqueued", is worth nothing while the host runs ahead; it only finds clocks
// that have jumped, and bounds the error of the first operations.
//
//   estimate   the line below the least delays of the last 17 s that is highest on average (Moon, Skelly and Towsley,
//              "Estimation and removal of clock skew from network delay measurements", INFOCOM 1999), less
//              kHearingNs, which is what polling costs at best
//   mapping    a function of GPU time alone, equal for all operations of one GPU: continuous, slewed by at most
//              kMaxSlewPpm, so that gaps between operations stay those that the GPU measured. It steps where the
//              estimate moves by more than kMaxSlewNs, or by more than kSmallStepNs in the first second
//   error      kBaseErrorNs, what is left to slew, and 3 x the mean delay above the line / sqrt(number of delays):
//   between
//              1 / number for independent delays and 1 for delays of one cause. Of the first delays: how far causality
//              lets the offset be
//
// Durations need no mapping: they are differences on the GPU. Thread-safe and lock-free: a thread that meets another
// one inside leaves its moment out. Zeroed memory is a clock that knows nothing. Bounded: kMaxPoints delays.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_GPU_CLOCK_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_GPU_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace lockstep::ring {

class GpuClock {
 public:
  static constexpr int kMaxPoints = 64;
  static constexpr int64_t kHearingNs = 5'000;     // a store over PCIe and a round of the polling loop
  static constexpr int64_t kBaseErrorNs = 10'000;  // of that guess, and a tick of a coarse timer
  static constexpr int64_t kMaxSlewNs = 100'000;   // begins further off than this are worse than one wrong gap
  static constexpr int64_t kSmallStepNs = 5'000;
  static constexpr double kMaxSlewPpm = 100;  // 0.1 us in a gap of 1 ms
  // Oscillators differ by up to 100 ppm, and so may the correction of the host's clock.
  static constexpr double kMaxDriftPpm = 200;
  // A thread may be descheduled between launching a kernel and telling of it, for some slices of the scheduler.
  static constexpr int64_t kMaxLaunchDelayNs = 10'000'000;
  // A single reading that contradicts all others is wrong; as many in a row mean that a clock has jumped.
  static constexpr uint32_t kContradictions = 4;

  struct Mapping {
    int64_t offset_ns = 0;  // host = GPU + offset
    int64_t error_ns = -1;  // the offset is off by at most this; negative = there is no mapping

    int64_t HostTime(uint64_t gpu_ns) const { return static_cast<int64_t>(gpu_ns + static_cast<uint64_t>(offset_ns)); }
  };

  constexpr GpuClock() = default;
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // The host has heard, at `heard_ns`, that it is `gpu_ns` or later.
  void Observe(int64_t gpu_ns, int64_t heard_ns);
  // What began at `gpu_ns` had been enqueued at `enqueued_ns`.
  void ObserveEnqueued(int64_t gpu_ns, int64_t enqueued_ns);

  // The offset at `gpu_ns`, which may be long ago.
  Mapping Map(int64_t gpu_ns) const;

  void Reset();

 private:
  struct Point {
    int64_t gpu_ns;
    int64_t excess_ns;  // heard, or enqueued, minus GPU time
  };
  struct Line {
    double at_ns = 0;  // of the GPU, after base_
    double value_ns = 0;
    double rate = 0;
    double mean_delay_ns = 0;
  };
  // Offset = value + rate * t + slew * clamp(t, 0, slew_for), t after gpu_ns.
  struct Segment {
    std::atomic<int64_t> gpu_ns{0};
    std::atomic<int64_t> value_ns{0};
    std::atomic<double> rate{0};
    std::atomic<double> slew_rate{0};
    std::atomic<double> slew_for_ns{0};
    std::atomic<int64_t> error_ns{0};
  };
  static constexpr uint64_t kSegments = 4;
  static constexpr int64_t kFirstWidthNs = int64_t{1} << 22;  // 4 ms
  static constexpr int64_t kLastWidthNs = int64_t{1} << 28;   // 0.27 s
  // Between looks that may cost more than a comparison: also where time on the GPU runs at another rate altogether.
  static constexpr int64_t kMinMoveNs = 50'000;

  void Add(const Point& point, int64_t heard_ns, Mapping mapping);
  bool IsContradicted(const Point& point) const;
  void NextPoint(const Point& point, int64_t heard_ns);
  void MergePoints();
  Line FitLine() const;
  void Refit(int64_t gpu_ns);
  void MoveTo(int64_t gpu_ns, int64_t latest_ns);
  void Publish(int64_t gpu_ns, int64_t value_ns, double rate, int64_t slew_ns, int64_t error_ns);
  void Clear();

  // What a thread looks at before it enters.
  std::atomic<uint64_t> version_{0};  // of the segments; 0 = none
  std::atomic<int64_t> least_delay_ns_{0};
  std::atomic<int64_t> next_move_at_ns_{0};      // of the host
  std::atomic<int64_t> next_point_at_ns_{0};     // of the host
  std::atomic<int64_t> next_enqueued_at_ns_{0};  // of the GPU
  std::atomic<uint32_t> late_launches_{0};       // by far, in a row
  Segment segments_[kSegments] = {};

  std::atomic<uint32_t> is_entered_{0};
  // Guarded by is_entered_.
  uint32_t contradictions_ = 0;  // heard of by far too early, in a row
  int count_ = 0;
  int64_t width_ns_ = 0;
  double rate_ = 0;
  double scatter_ns_ = 0;  // what the delays above the line say of its error
  bool has_enqueued_ = false;
  Point enqueued_ = {};  // the tightest, as far as drift lets it count
  Point points_[kMaxPoints] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_GPU_CLOCK_H_
