#include "detector/slow/launch_lateness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/shares.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

constexpr size_t kMinPeers = 2;  // to compare with
// Share of own time that peers may have launched late, and still be ahead: the smaller part.
constexpr double kAhead = kMainPart;
// Of a suspect's excess, that late launches explain: the main cause.
constexpr double kMostOfExcess = kMainPart;

}  // namespace

LaunchLateness::LaunchLateness(const JobRoles& roles, const OwnProfile& profile)
    : profile_(profile), seconds_(profile.excess.size(), std::numeric_limits<float>::quiet_NaN()) {
  for (const std::vector<int32_t>& peers : roles.classes) {
    for (size_t step = 0; step < profile.steps; ++step) Measure(peers, step);
  }
}

void LaunchLateness::Measure(const std::vector<int32_t>& peers, size_t step) {
  std::vector<double> own, bound;
  for (const int32_t peer : peers) {
    if (std::isnan(profile_.own[At(peer, step)])) continue;
    own.push_back(static_cast<double>(profile_.own[At(peer, step)]));
    bound.push_back(static_cast<double>(profile_.host_bound[At(peer, step)]));
  }
  const double usual = MedianInPlace(&bound);
  if (own.size() < kMinPeers || usual > kAhead * MedianInPlace(&own)) return;
  for (const int32_t peer : peers) {
    const size_t at = At(peer, step);
    if (std::isnan(profile_.excess[at])) continue;
    const float beyond = profile_.host_bound[at] - static_cast<float>(usual);
    seconds_[at] = std::max(0.0F, std::min(profile_.excess[at], beyond));
  }
}

bool LaunchLateness::Explain(const Suspect& suspect) const {
  double late = 0, excess = 0;
  for (int32_t step = suspect.first_step; step <= suspect.last_step; ++step) {
    const auto at = static_cast<size_t>(step);
    const float of_step = profile_.excess[At(suspect.rank, at)];
    if (std::isnan(Of(suspect.rank, at)) || !(static_cast<double>(of_step) > suspect.slow_above_seconds)) continue;
    late += static_cast<double>(Of(suspect.rank, at));
    excess += static_cast<double>(of_step);
  }
  return late >= kMostOfExcess * excess;
}

}  // namespace lockstep
