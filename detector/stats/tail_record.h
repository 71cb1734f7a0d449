// The surprisal of one reading, told by all readings of all peers so far and by nothing else.
//
// No model of the noise holds far out: error counters stand still for days and then count once, waits come in bursts.
// Two things hold whatever the distribution is:
// - A reading that k of n earlier ones reached has the chance (k + 1) / (n + 1): all n + 1 are equal before they are
//   read (exchangeability).
// - Beyond the largest that was ever seen, the chance to be c times further out is at most 1 / c for anything that has
//   a mean at all (Markov's inequality, applied to the tail beyond the record). Nothing that is real has a heavier
//   tail.
// The surprisal is -ln of that chance, in nats like all evidence. One reading of an error counter that never moved on
// 10,000 readings before, and counts a thousand times its resolution, has a surprisal of 9 + 7 nats. A few readings of
// a machine that was broken before cost ln(k + 1) only.
//
// Surprisals of readings one after the other add up, less what the best of so many chances would add up to anyway
// (TogetherOf).
//
// Magnitudes are sorted into eighths of an octave: of a normal distribution the chance of a reading of three deviations
// is known within half a nat. Sizes between 1 and 2^20 are told apart. 1.3 KB; O(grades). Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_STATS_TAIL_RECORD_H_
#define LOCKSTEP_DETECTOR_STATS_TAIL_RECORD_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace lockstep {

class TailRecord {
 public:
  // `size`: of a reading, in deviations; anything below 1 counts as 1.
  void Add(double size);

  // Nats. `independent`: the share of the readings that counts, less than 1 where neighbours in time resemble each
  // other.
  double SurprisalOf(double size, double independent) const;

  // Surprisal, in nats, of the first reading that is larger than all others: more cannot be told from chance yet.
  double MostKnown(double independent) const { return std::log(independent * static_cast<double>(total_) + 1); }

 private:
  // Twenty octaves, and what is beyond.
  static constexpr size_t kGrades = 161;

  static size_t GradeOf(double size);

  std::array<uint64_t, kGrades> readings_ = {};
  uint64_t total_ = 0;
  size_t highest_ = 0;  // grade with a reading
};

// Nats that a reading may add at most to a sum that somebody watches for how high it ever gets. Chance has a surprisal
// of s or more in one of e^s readings, but two that add up to s come (1 + s) times as often, and more of them more
// often still. e^s / (1 + s)^2 is of mean 1 while nothing has changed (an e-value; Vovk and Wang 2021): of those
// Ville's inequality holds, however many are multiplied. Where tails are far, that is; up to kOrdinary nats, about 2.8
// deviations, the caller's model of the noise holds, and readings may add what it says.
inline constexpr double kOrdinary = 4;
inline double EvidenceOf(double surprisal) {
  return std::max(std::min(surprisal, kOrdinary), surprisal - 2 * std::log1p(surprisal));
}

// Nats that `readings` independent ones are worth whose surprisals add up to `sum`: a surprisal is an exponential
// variable of mean 1 while nothing has changed, so that the sum has the tail of Erlang's distribution (Fisher's
// combined test). At least 0; `sum` itself of a single one.
double TogetherOf(double sum, int readings);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_TAIL_RECORD_H_
