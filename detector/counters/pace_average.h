// What a job did lately, averaged so that its steps do not show, and whether that is less than usual.
//
// Within a step a job computes, communicates and waits, so that an average over a few seconds varies with the steps and
// hides any change of pace that is smaller. An average over just one step, or several, does not vary at all. So the
// averages over all lengths from kShortest to kLongest are kept with the deviation that each has shown; of every octave
// of lengths the one that swung least counts. Nobody has to know how long a step is, and whatever repeats is averaged
// out: steps, steps with a longer one every so often, the beat of steps with the sampling. Steps are no whole number of
// ticks, so lengths are told apart by quarters of a tick, the oldest of which counts by its part: an average over 18
// ticks deviates by a hundredth where steps take 17.75.
//
// What lies beyond kRipples times the deviation is news and does not enlarge it.
//
// A job is slower when such an average lies below the usual level by more than kSlower, by more than kRipples times
// its deviation, and by clearly more than it ever did before: a job that hiccups now and then has a small deviation and
// is no slower. The last block of kBlockTicks and the one under way are no "before", so that a job that slows down does
// not hide in it. Until there is a "before", the deviation is known from few averages as well, and takes more to be
// beyond (Student's t of as many). An average counts only when all of it was sampled since the job last stood still.
//
// It seems slower already beyond kFewRipples and more than ever: in three of a hundred moments without any cause, which
// is enough to believe a machine that stands out by itself and too little to look for one.
//
// Cost: O(lengths) per tick, 512 of them. Memory: 16 KB. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PACE_AVERAGE_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PACE_AVERAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep {

// What a level is less than usual, 0 to 1, as far as that is more than it deviates by; 0 = it is not less.
struct Slowness {
  double seeming = 0;  // at least `share`
  double share = 0;    // for sure
  double seconds = 0;  // of the shortest average that says so for sure
};

class PaceAverage {
 public:
  // Seconds: from the shortest steps of large jobs to several of the longest, in octaves.
  static constexpr double kShortest = 4;
  static constexpr double kLongest = 128;
  // Empirical, docs/counters.md has what they cost and give: a job of healthy machines drifts by 1 %; four ripples
  // would call fewer healthy jobs slower, and never find 4 % of small shifts.
  static constexpr double kSlower = 0.012;
  static constexpr double kRipples = 3;
  static constexpr double kFewRipples = 2;
  static constexpr double kMoreThanEver = 1.25;
  // Half of the longest average: the last block and the one under way hold all of it.
  static constexpr int kBlockTicks = 64;
  static constexpr int kBlocksBefore = 2;  // after so many there is a "before"

  PaceAverage();

  void Add(double value);
  // Takes what the averages are now for deviation around `usual`, of which the newest part counts `weight`.
  void LearnDeviation(double usual, double weight);

  // After a pause: what was before counts no longer, but for the deviation.
  void Restart();

  Slowness SlowerThan(double usual, double tick_seconds) const;

 private:
  // Of kLongest, once a second.
  static constexpr size_t kMostTicks = 128;
  static constexpr size_t kParts = 4;  // of a tick
  static constexpr size_t kMostParts = kMostTicks * kParts;

  // How far an average was below the usual level at most, as a share of it.
  struct Lows {
    float block = 0;   // under way
    float last = 0;    // the block before
    float before = 0;  // in all others, slowly forgotten
  };

  void EndBlock(double weight);
  double RipplesOf(size_t parts, double ripples) const;
  // Lengths in parts of a tick.
  double MeanOf(size_t parts) const;
  size_t Known() const { return full_ * kParts; }
  static size_t ShortestParts(double tick_seconds);
  static size_t LongestParts(double tick_seconds);

  std::array<double, kMostTicks> newest_ = {};    // a ring
  std::array<double, kMostTicks + 1> sums_ = {};  // of the newest so many ticks
  // Mean square of average / usual - 1, by length, and from how many ticks it is known.
  std::array<float, kMostParts + 1> deviation_ = {};
  std::array<uint32_t, kMostParts + 1> learnt_ = {};
  std::array<Lows, kMostParts + 1> lows_ = {};
  int block_ticks_ = 0;
  int blocks_ = 0;  // that ended, at most kBlocksBefore
  size_t next_ = 0;
  size_t full_ = 0;  // ticks since the last restart, at most kMostTicks
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PACE_AVERAGE_H_
