// Evidence that one series went away from where it should be, in nats and in either direction (false_alarm_budget.h).
//
// Two CUSUM sums per direction (Page 1954; Moustakides 1986: nothing is quicker for a known shift) add up log
// likelihood ratios, for a shift by kGross deviations and for one by a single deviation; each starts anew where it
// falls below 0. Being the largest sum over any last ticks, they need no window and adapt to the size of the effect by
// themselves. The subtle one counts kSubtleWeight: small shifts for a long time are what imperfectly known noise looks
// like, too.
//
// 32 bytes and O(1) per tick. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_STATS_CHANGE_EVIDENCE_H_
#define LOCKSTEP_DETECTOR_STATS_CHANGE_EVIDENCE_H_

#include <algorithm>
#include <cstdint>

namespace lockstep {

// What one tick may do to the sums, in nats.
struct EvidenceLimits {
  double tick = 0;   // most that it adds to the gross sum; kSubtleStep of that to the subtle one
  double total = 0;  // sums stop growing here, so that they can come back
  // False while it is not known well where the series should be: what that is off by looks like a small shift for ever.
  bool subtle = true;
};

class ChangeEvidence {
 public:
  static constexpr int kSides = 2;  // up, down
  // Sigma: the shift that the gross sum looks for. The subtle one looks for 1.
  static constexpr double kGross = 3;
  // Empirical: the subtle sum, of small shifts in noise that is not quite normal, alarms on a half more evidence, adds
  // less per tick, and one tick takes no more from it than a reading 1.5 sigma on the other side.
  static constexpr double kSubtleStep = 0.75;
  static constexpr double kRecovery = 2;
  static constexpr double kSubtleWeight = 0.65;
  // Nats that a series has for no reason, more often than not: one in e readings.
  static constexpr double kNoise = 1;

  // `score`: distance in deviations, a standard normal while nothing has changed; finite.
  void Add(double score, int64_t time_ms, const EvidenceLimits& limits) {
    AddTo(0, score, time_ms, limits);
    AddTo(1, -score, time_ms, limits);
  }
  void Clear() {
    for (int side = 0; side < kSides; ++side) gross_[side] = subtle_[side] = 0;
  }

  double Of(int side) const { return std::max<double>(gross_[side], kSubtleWeight * subtle_[side]); }
  double Most() const { return std::max(Of(0), Of(1)); }
  // When the evidence of this side last rose above kNoise; 0 = it never did. Its sums may have left 0 long before.
  int64_t onset_ms(int side) const { return onset_ms_[side]; }

 private:
  void AddTo(int side, double toward, int64_t time_ms, const EvidenceLimits& limits) {
    // Of the log-likelihood of a shift by kGross.
    constexpr double kOwing = -kGross * kGross / 2;
    if (Of(side) <= kNoise) onset_ms_[side] = time_ms;
    gross_[side] = Sum(gross_[side], kGross * toward + kOwing, kOwing, limits.tick, limits.total);
    subtle_[side] =
        limits.subtle ? Sum(subtle_[side], toward - 0.5, -kRecovery, kSubtleStep * limits.tick, limits.total) : 0;
  }

  // `sum` and what is added to it, which is at least `least` and at most `most`.
  static float Sum(double sum, double added, double least, double most, double total) {
    return static_cast<float>(std::min(std::max(sum + std::min(std::max(added, least), most), 0.0), total));
  }

  float gross_[kSides] = {};
  float subtle_[kSides] = {};
  int64_t onset_ms_[kSides] = {};
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_CHANGE_EVIDENCE_H_
