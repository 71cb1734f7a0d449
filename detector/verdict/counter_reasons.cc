#include "detector/verdict/counter_reasons.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace lockstep {

SamplesLeftOut LeftOut(const SampleLosses& losses, absl::Span<const std::string> hosts) {
  SamplesLeftOut left_out{.losses = losses};
  if (!losses.misclocked_hosts.empty()) {
    left_out.misclocked_host = hosts[static_cast<size_t>(losses.misclocked_hosts.front())];
  }
  return left_out;
}

std::string Sentence(const NoCounters& reason) {
  return absl::StrFormat("No counters of host %s came for at least %.0f s, while those of the others did.", reason.host,
                         reason.seconds);
}

std::string Sentence(const CounterExcursion& reason) {
  return absl::StrFormat(
      "%s%s%s of host %s is %.4g%s, the median of %d peers %.4g: %s by %.1f times the noise, since %.1f s.",
      reason.metric, reason.device.empty() ? "" : " of ", reason.device, reason.host, reason.level,
      reason.is_rate ? " per second" : "", reason.peers, reason.median,
      reason.up ? "above its place" : "below its place", reason.sigmas, reason.onset_seconds);
}

std::string Sentence(const NotLookedAt& reason) {
  return absl::StrCat("Not looked at, since there are no counters of it: ", absl::StrJoin(reason.what, ", "), ".");
}

std::string Sentence(const SamplesLeftOut& reason) {
  const SampleLosses& losses = reason.losses;
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
    const size_t others = losses.misclocked_hosts.size() - 1;
    parts.push_back(absl::StrCat("all of host ", reason.misclocked_host,
                                 others > 0 ? absl::StrCat(" and ", others, " more") : "",
                                 ", whose clock is elsewhere"));
  }
  return parts.empty() ? "" : absl::StrCat("Left out: ", absl::StrJoin(parts, ", "), ".");
}

std::string Sentence(const JobDidLess& reason) {
  return absl::StrFormat("Meanwhile the whole job did %.0f %% less than usual.", 100 * reason.loss);
}

std::string Sentence(const NoDegradationSeen& reason) {
  return reason.activity_known ? "The job as a whole went on as usual: no accusation."
                               : "Whether the job is degraded cannot be told: no accusation.";
}

std::string Sentence(const PlaceStandsOut& reason) {
  const std::string places = absl::StrJoin(reason.places, ", ", [](std::string* out, const auto& place) {
    absl::StrAppend(out, Name(place.first), " ", place.second);
  });
  return absl::StrFormat(
      "%d of the %d machines of %s stand out together, %d of the other %d do: by chance so many gather in one place "
      "with a probability of %.2g.",
      reason.deviating, reason.machines, places, reason.deviating_elsewhere, reason.machines_elsewhere, reason.chance);
}

std::string Sentence(const OnlyMemberStandsOut& reason) {
  if (reason.hosts == 0) {
    return absl::StrFormat("Of all hosts only %s has network counters that stand out.", reason.host);
  }
  return absl::StrFormat("Of the %d hosts of this group only %s has network counters that stand out.", reason.hosts,
                         reason.host);
}

}  // namespace lockstep
