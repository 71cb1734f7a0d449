#include "agent/recorder/nccl_gpu_clock.h"

#include <string.h>

namespace lockstep::ring {
namespace {

constexpr double kPpm = 1e-6;
// So few delays may as well be scatter as drift, of which the usual is 25 ppm at most.
constexpr int kScatterPoints = 8;
constexpr double kUsualDriftPpm = 25;
constexpr double kYoungNs = 1e9;
// Below this many delays their scatter says nothing.
constexpr int kFewPoints = 4;
constexpr int kBisections = 20;  // 400 ppm / 2^20
// Of the host's clock, which a wrong reading of the GPU's may be centuries away from.
constexpr int64_t kFarNs = INT64_MAX / 4;
// What was heard of so late tells nothing: the process was stopped, or the reading is wrong.
constexpr int64_t kMaxDelayNs = 1'000'000'000;

// Holds a word, or does not: nobody waits.
class Entrance {
 public:
  explicit Entrance(std::atomic<uint32_t>& word) : word_(word) {
    held_ = word.exchange(1, std::memory_order_acquire) == 0;
  }
  ~Entrance() {
    if (held_) word_.store(0, std::memory_order_release);
  }
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;
  bool held() const { return held_; }

 private:
  std::atomic<uint32_t>& word_;
  bool held_ = false;
};

double Min(double a, double b) { return a < b ? a : b; }
double Max(double a, double b) { return a > b ? a : b; }

// Of times that may be anything.
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t Plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
double Passed(int64_t from, int64_t to) { return static_cast<double>(Minus(to, from)); }
double Magnitude(double value) { return value < 0 ? -value : value; }

// Of 1 to 64, by Heron's rule: the library of mathematics is not worth a dependency.
double SquareRoot(int value) {
  constexpr int kRounds = 6;
  double root = value;
  for (int i = 0; i < kRounds; ++i) root = (root + value / root) / 2;
  return root;
}

}  // namespace

void GpuClock::Reset() {
  const Entrance entrance(is_entered_);
  if (entrance.held()) Clear();
}

void GpuClock::Clear() {
  count_ = 0;
  width_ns_ = kFirstWidthNs;
  contradictions_ = 0;
  late_launches_.store(0, std::memory_order_relaxed);
  has_enqueued_ = false;
  next_enqueued_at_ns_.store(INT64_MIN, std::memory_order_relaxed);
  least_delay_ns_.store(kFarNs, std::memory_order_relaxed);
  next_point_at_ns_.store(0, std::memory_order_relaxed);
  next_move_at_ns_.store(0, std::memory_order_relaxed);
  Publish(INT64_MIN, 0, 0, 0, -1);
}

GpuClock::Mapping GpuClock::Map(int64_t gpu_ns) const {
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    if (version == 0) return {};
    const Segment& segment = segments_[version % kSegments];
    const auto passed = Passed(segment.gpu_ns.load(std::memory_order_relaxed), gpu_ns);
    const int64_t value_ns = segment.value_ns.load(std::memory_order_relaxed);
    const double slew_rate = segment.slew_rate.load(std::memory_order_relaxed);
    const double slew_for_ns = segment.slew_for_ns.load(std::memory_order_relaxed);
    const double slewing_ns = Max(0, Min(passed, slew_for_ns));
    const double moved_ns = passed * segment.rate.load(std::memory_order_relaxed) + slew_rate * slewing_ns;
    const int64_t error_ns = segment.error_ns.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) - version > kSegments - 2) continue;  // it may have been written again
    if (error_ns < 0) return {};
    const double left_ns = slew_rate * (slew_for_ns - slewing_ns);
    return {value_ns + static_cast<int64_t>(moved_ns), error_ns + static_cast<int64_t>(Magnitude(left_ns))};
  }
  return {};
}

void GpuClock::Publish(int64_t gpu_ns, int64_t value_ns, double rate, int64_t slew_ns, int64_t error_ns) {
  const uint64_t version = version_.load(std::memory_order_relaxed) + 1;
  Segment& segment = segments_[version % kSegments];
  // Whoever sees what follows sees that the versions before are complete.
  std::atomic_thread_fence(std::memory_order_release);
  const auto slew = static_cast<double>(slew_ns);
  const double slew_for_ns = Max(static_cast<double>(kLastWidthNs), Magnitude(slew) / (kMaxSlewPpm * kPpm));
  segment.gpu_ns.store(gpu_ns, std::memory_order_relaxed);
  segment.value_ns.store(value_ns, std::memory_order_relaxed);
  segment.rate.store(rate, std::memory_order_relaxed);
  segment.slew_rate.store(slew / slew_for_ns, std::memory_order_relaxed);
  segment.slew_for_ns.store(slew_for_ns, std::memory_order_relaxed);
  segment.error_ns.store(error_ns, std::memory_order_relaxed);
  version_.store(version, std::memory_order_release);
}

void GpuClock::Observe(int64_t gpu_ns, int64_t heard_ns) {
  const Mapping mapping = Map(gpu_ns);
  const Point point = {gpu_ns, Minus(heard_ns, gpu_ns)};
  if (mapping.error_ns >= 0) [[likely]] {
    if (heard_ns < next_move_at_ns_.load(std::memory_order_relaxed)) return;
    const bool is_least = Minus(point.excess_ns, mapping.offset_ns) < least_delay_ns_.load(std::memory_order_relaxed);
    if (!is_least && heard_ns < next_point_at_ns_.load(std::memory_order_relaxed)) [[likely]]
      return;
  }
  const Entrance entrance(is_entered_);
  if (entrance.held()) Add(point, heard_ns, mapping);
}

void GpuClock::ObserveEnqueued(int64_t gpu_ns, int64_t enqueued_ns) {
  const Mapping mapping = Map(gpu_ns);
  const int64_t excess_ns = Minus(enqueued_ns, gpu_ns);
  const bool is_mapped = mapping.error_ns >= 0;
  const bool is_late = is_mapped && Minus(excess_ns, mapping.offset_ns) > kMaxLaunchDelayNs;
  if (!is_late && late_launches_.load(std::memory_order_relaxed) != 0)
    late_launches_.store(0, std::memory_order_relaxed);
  // Long before: it says nothing, nor does one soon after another one.
  const bool is_loose = Minus(mapping.offset_ns, excess_ns) > kMaxLaunchDelayNs;
  const bool is_soon = gpu_ns < next_enqueued_at_ns_.load(std::memory_order_relaxed);
  if (is_mapped && !is_late && (is_loose || is_soon)) [[likely]]
    return;
  const Entrance entrance(is_entered_);
  if (!entrance.held()) return;
  if (is_late) {
    if (late_launches_.fetch_add(1, std::memory_order_relaxed) + 1 >= kContradictions) Clear();
    return;
  }
  next_enqueued_at_ns_.store(Plus(gpu_ns, kLastWidthNs), std::memory_order_relaxed);
  const auto age_ns = Passed(enqueued_.gpu_ns, gpu_ns);
  const double before_ns = Passed(excess_ns, enqueued_.excess_ns) - age_ns * kMaxDriftPpm * kPpm;
  if (!has_enqueued_ || before_ns < 0) enqueued_ = {gpu_ns, excess_ns};
  has_enqueued_ = true;
}

// Heard of before it was launched, by far.
bool GpuClock::IsContradicted(const Point& point) const {
  if (!has_enqueued_) return false;
  const auto age_ns = Passed(enqueued_.gpu_ns, point.gpu_ns);
  const double drift_ns = Magnitude(age_ns) * kMaxDriftPpm * kPpm;
  return Passed(enqueued_.excess_ns, point.excess_ns) + drift_ns < -static_cast<double>(kMaxLaunchDelayNs);
}

void GpuClock::Add(const Point& point, int64_t heard_ns, Mapping mapping) {
  if (IsContradicted(point)) {
    if (++contradictions_ < kContradictions) return;
    Clear();
    mapping = {};
  }
  contradictions_ = 0;
  const bool is_mapped = mapping.error_ns >= 0 && count_ > 0;
  const int64_t delay_ns = Minus(point.excess_ns, mapping.offset_ns);
  if (is_mapped && delay_ns > kMaxDelayNs) return;
  // That much below the line: what made the line was late.
  if (!is_mapped || delay_ns < -kMaxSlewNs) {
    count_ = 0;
    width_ns_ = kFirstWidthNs;
  }
  const int64_t least_ns = least_delay_ns_.load(std::memory_order_relaxed);
  const bool is_next = count_ == 0 || heard_ns >= next_point_at_ns_.load(std::memory_order_relaxed);
  if (is_next) {
    NextPoint(point, heard_ns);
  } else if (delay_ns >= least_ns) {
    return;
  } else {
    points_[count_ - 1] = point;
    least_delay_ns_.store(delay_ns, std::memory_order_relaxed);
  }
  next_move_at_ns_.store(Plus(heard_ns, kMinMoveNs), std::memory_order_relaxed);
  // Never back: what was mapped stays as it was mapped.
  const Segment& segment = segments_[version_.load(std::memory_order_relaxed) % kSegments];
  const int64_t since_ns = segment.gpu_ns.load(std::memory_order_relaxed);
  const int64_t at_ns = point.gpu_ns > since_ns ? point.gpu_ns : since_ns;
  if (is_next) {
    Refit(at_ns);
  } else if (delay_ns < 0) {
    // A moment that is told before it comes to pass cannot wait for the end of the interval.
    MoveTo(at_ns, point.excess_ns);
  }
}

void GpuClock::NextPoint(const Point& point, int64_t heard_ns) {
  if (count_ == kMaxPoints && width_ns_ < kLastWidthNs) {
    MergePoints();
  } else if (count_ == kMaxPoints) {
    memmove(points_, points_ + 1, sizeof(points_) - sizeof(points_[0]));
    --count_;
  }
  points_[count_++] = point;
  next_point_at_ns_.store((heard_ns / width_ns_ + 1) * width_ns_, std::memory_order_relaxed);
}

// The better one of each two, for intervals twice as long.
void GpuClock::MergePoints() {
  const auto delay_ns = [this](int i) { return Minus(points_[i].excess_ns, Map(points_[i].gpu_ns).offset_ns); };
  for (int i = 0; i < kMaxPoints / 2; ++i)
    points_[i] = points_[delay_ns(2 * i) <= delay_ns(2 * i + 1) ? 2 * i : 2 * i + 1];
  count_ = kMaxPoints / 2;
  width_ns_ *= 2;
}

// Below all points, and highest at their mean time: the lowest point seen along the line lies to the right of the mean
// while the line is too steep.
GpuClock::Line GpuClock::FitLine() const {
  const Point& base = points_[count_ - 1];
  double x[kMaxPoints];
  double y[kMaxPoints];
  double sum_x = 0;
  for (int i = 0; i < count_; ++i) {
    x[i] = Passed(base.gpu_ns, points_[i].gpu_ns);
    y[i] = Passed(base.excess_ns, points_[i].excess_ns);
    sum_x += x[i];
  }
  Line line;
  line.at_ns = sum_x / count_;
  const double steepest = kPpm * (count_ < kScatterPoints ? kUsualDriftPpm : kMaxDriftPpm);
  double low = -steepest;
  double high = steepest;
  for (int i = 0; i <= kBisections && count_ > 1; ++i) {
    line.rate = (low + high) / 2;
    int lowest = 0;
    for (int k = 0; k < count_; ++k) {
      if (y[k] - line.rate * x[k] < y[lowest] - line.rate * x[lowest]) lowest = k;
    }
    line.value_ns = y[lowest] - line.rate * (x[lowest] - line.at_ns);
    (x[lowest] > line.at_ns ? high : low) = line.rate;
  }
  for (int i = 0; i < count_; ++i) {
    line.mean_delay_ns += (y[i] - line.value_ns - line.rate * (x[i] - line.at_ns)) / count_;
  }
  return line;
}

// A new line, and the way from the mapping to it.
void GpuClock::Refit(int64_t gpu_ns) {
  const Line line = FitLine();
  const Point& base = points_[count_ - 1];
  const double value_ns = line.value_ns + line.rate * (Passed(base.gpu_ns, gpu_ns) - line.at_ns);
  rate_ = line.rate;
  scatter_ns_ = 3 * line.mean_delay_ns / SquareRoot(count_);
  MoveTo(gpu_ns, Plus(base.excess_ns, static_cast<int64_t>(value_ns)));
}

// The line passes `latest_ns` at `gpu_ns`.
void GpuClock::MoveTo(int64_t gpu_ns, int64_t latest_ns) {
  // Between when something was enqueued and when something was heard of.
  double room_ns = static_cast<double>(kFarNs);
  if (has_enqueued_) {
    const double drift_ns = Magnitude(Passed(enqueued_.gpu_ns, gpu_ns)) * kMaxDriftPpm * kPpm;
    room_ns = Max(0, Passed(enqueued_.excess_ns, latest_ns) + drift_ns);
  }
  const int64_t offset_ns = Minus(latest_ns, static_cast<int64_t>(Min(room_ns / 2, static_cast<double>(kHearingNs))));
  const Mapping before = Map(gpu_ns);
  const int64_t change_ns = Minus(offset_ns, before.offset_ns);
  const double size_ns = Magnitude(static_cast<double>(change_ns));
  const bool is_young = Passed(points_[0].gpu_ns, points_[count_ - 1].gpu_ns) < kYoungNs;
  const bool is_step = before.error_ns < 0 || size_ns > kMaxSlewNs || (is_young && size_ns > kSmallStepNs);
  const int64_t error_ns = kBaseErrorNs + static_cast<int64_t>(count_ < kFewPoints ? room_ns : scatter_ns_);
  const int64_t value_ns = is_step ? offset_ns : before.offset_ns;
  Publish(gpu_ns, value_ns, rate_, is_step ? 0 : change_ns, error_ns);
  const Point& newest = points_[count_ - 1];
  const int64_t newest_value_ns = newest.gpu_ns == gpu_ns ? value_ns : Map(newest.gpu_ns).offset_ns;
  least_delay_ns_.store(Minus(newest.excess_ns, newest_value_ns), std::memory_order_relaxed);
}

}  // namespace lockstep::ring
