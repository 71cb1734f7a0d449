#include "detector/steps/called_moments.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace lockstep {

void CalledMoments::Clear() {
  called_.clear();
  begin_ = 0;
}

void CalledMoments::Note(const WorkMoment& moment, int64_t called_ns) {
  size_t at = CalledBy(called_ns);
  if (at > begin_ && called_[at - 1].moment.at_ns > moment.at_ns) return;
  if (at > begin_ && called_[at - 1].called_ns == called_ns) --at;
  // Those that were called no earlier and are no later say nothing any more.
  const auto replaced = called_.begin() + static_cast<std::ptrdiff_t>(at);
  const auto kept =
      std::find_if(replaced, called_.end(), [&](const Called& called) { return called.moment.at_ns > moment.at_ns; });
  called_.insert(called_.erase(replaced, kept), {called_ns, moment});
  if (called_.size() - begin_ > kMaxCalledMoments) DropOldest();
}

WorkMoment CalledMoments::LatestOf(int64_t called_ns) const {
  const size_t end = CalledBy(called_ns);
  return end == begin_ ? WorkMoment{} : called_[end - 1].moment;
}

size_t CalledMoments::CalledBy(int64_t called_ns) const {
  const auto first = called_.begin() + static_cast<std::ptrdiff_t>(begin_);
  const auto later = std::upper_bound(first, called_.end(), called_ns,
                                      [](int64_t ns, const Called& called) { return ns < called.called_ns; });
  return static_cast<size_t>(later - called_.begin());
}

void CalledMoments::DropOldest() {
  ++begin_;
  called_[begin_].called_ns = std::numeric_limits<int64_t>::min();
  if (begin_ < kMaxCalledMoments) return;
  called_.erase(called_.begin(), called_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
}

}  // namespace lockstep
