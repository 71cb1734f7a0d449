// The mean over a few of a limited number of values, and when these few are enough to say on which side of a limit the
// mean over all lies.
//
// The values are drawn spread evenly over something that they go with (the length of a step). Nothing is made of their
// being drawn without replacement: one that is far from all others may be the last. Pure; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_STATS_SAMPLED_MEAN_H_
#define LOCKSTEP_DETECTOR_STATS_SAMPLED_MEAN_H_

#include <cstddef>
#include <vector>

namespace lockstep {

// At most `most` of the places 0 to count - 1, in such an order that any beginning of it is spread evenly over all: van
// der Corput's sequence.
std::vector<size_t> SpreadOrder(size_t count, size_t most);

class SampledMean {
 public:
  void Add(double value);

  size_t size() const { return size_; }
  double mean() const { return mean_; }

  // Whether the mean of all `population` values surely lies on the same side of `limit` as the mean so far: by four
  // standard errors, which chance exceeds in one of 17 cases with three values (Student's t), in one of 60 with five.
  // Never with fewer than three.
  bool Settled(double limit, size_t population) const;

 private:
  size_t size_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squares about the mean
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STATS_SAMPLED_MEAN_H_
