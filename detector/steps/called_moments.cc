#include "detector/steps/called_moments.h"

#include <algorithm>

namespace lockstep {

void CalledMoments::Clear() {
  called_.clear();
  begin_ = 0;
}

void CalledMoments::Note(const WorkMoment& moment, int64_t called_ns) {
  const auto first = called_.begin() + static_cast<ptrdiff_t>(begin_);
  const auto later_call = std::upper_bound(first, called_.end(), called_ns,
                                           [](int64_t ns, const Called& called) { return ns < called.called_ns; });
  if (later_call != first && (later_call - 1)->moment.at_ns > moment.at_ns) return;
  // Those that were called no earlier and are no later say nothing any more.
  auto kept_from =
      std::find_if(later_call, called_.end(), [&](const Called& called) { return called.moment.at_ns > moment.at_ns; });
  auto replaced_from = later_call;
  while (replaced_from != first && (replaced_from - 1)->called_ns == called_ns) --replaced_from;
  if (replaced_from == kept_from) {
    called_.insert(kept_from, {called_ns, moment});
  } else {
    *replaced_from = {called_ns, moment};
    called_.erase(replaced_from + 1, kept_from);
  }
  if (called_.size() - begin_ > kMaxCalledMoments) DropOldest();
}

WorkMoment CalledMoments::LatestOf(int64_t called_ns) const {
  const auto first = called_.begin() + static_cast<ptrdiff_t>(begin_);
  const auto later_call = std::upper_bound(first, called_.end(), called_ns,
                                           [](int64_t ns, const Called& called) { return ns < called.called_ns; });
  return later_call == first ? WorkMoment{} : (later_call - 1)->moment;
}

void CalledMoments::DropOldest() {
  ++begin_;
  called_[begin_].called_ns = std::numeric_limits<int64_t>::min();
  if (begin_ < kMaxCalledMoments) return;
  called_.erase(called_.begin(), called_.begin() + static_cast<ptrdiff_t>(begin_));
  begin_ = 0;
}

}  // namespace lockstep
