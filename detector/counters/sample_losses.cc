#include "detector/counters/sample_losses.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace lockstep {

std::string DescribeLosses(const SampleLosses& losses, absl::Span<const std::string> hosts) {
  std::vector<std::string> parts;
  const auto say = [&parts](uint64_t count, absl::string_view what) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", what));
  };
  say(losses.not_finite, "values that are no numbers");
  say(losses.blank, "blank values of DCGM");
  say(losses.duplicate, "repeated samples");
  say(losses.out_of_order, "samples out of order");
  say(losses.late, "samples of a tick that was over");
  say(losses.resets, "counter resets or wraps");
  say(losses.far_off, "samples of another time");
  say(losses.over_limit, "samples beyond the limits");
  say(losses.repeated_series, "repeated series");
  if (!losses.misclocked_hosts.empty()) {
    const auto host = static_cast<size_t>(losses.misclocked_hosts.front());
    const size_t others = losses.misclocked_hosts.size() - 1;
    parts.push_back(absl::StrCat("all of host ", hosts[host], others > 0 ? absl::StrCat(" and ", others, " more") : "",
                                 ", whose clock is elsewhere"));
  }
  return parts.empty() ? "" : absl::StrCat("Left out: ", absl::StrJoin(parts, ", "), ".");
}

}  // namespace lockstep
