#include "detector/engine/grown_alone.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/model/peers_elsewhere.h"
#include "detector/slow/host_middle.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/usual_work.h"
#include "detector/structure/job_change.h"

namespace lockstep {
namespace {

constexpr size_t kMinSteps = 4;       // on either side: as many as a suspect needs
constexpr double kMinErrors = 5;      // one in three million by chance: of as many ranks and steps as jobs have
constexpr double kGrown = kMainPart;  // of what a longer step takes longer
constexpr double kSame = kMinorPart;  // below it

struct Growth {
  int32_t rank = -1;
  UsualWork before, after;  // that ranks of equal duty have in common

  double seconds() const { return after.seconds - before.seconds; }
  double errors() const { return seconds() / std::max(std::hypot(before.error_seconds, after.error_seconds), 1e-9); }
};

// Of all ranks of which enough is known.
std::vector<Growth> GrowthOf(const TraceAnalysis& analysis, const StepShift& shift) {
  std::vector<Growth> growth;
  for (size_t rank = 0; rank < analysis.profile.ranks; ++rank) {
    std::vector<double> before, after;
    for (int32_t step = 0; step < analysis.steps.steps; ++step) {
      const auto own =
          static_cast<double>(analysis.profile.Row(analysis.profile.shared, rank)[static_cast<size_t>(step)]);
      if (!std::isnan(own)) (shift.Has(analysis.steps, step) ? after : before).push_back(own);
    }
    const Growth one{.rank = static_cast<int32_t>(rank),
                     .before = UsualWorkOf(std::move(before)),
                     .after = UsualWorkOf(std::move(after))};
    if (one.before.steps >= kMinSteps && one.after.steps >= kMinSteps) growth.push_back(one);
  }
  return growth;
}

Suspect SuspectOf(const TraceAnalysis& analysis, const StepShift& shift, const Growth& grown) {
  return {.rank = grown.rank,
          .first_step = shift.first_step,
          .last_step = analysis.steps.steps - 1,
          .steps = static_cast<int32_t>(grown.after.steps),
          .excess_seconds = grown.seconds(),
          .own_seconds = grown.after.seconds,
          .before_seconds = grown.before.seconds,
          .significance = grown.errors(),
          .share_of_steps = shift.share,
          .slow_above_seconds = shift.in_some_steps() ? kGrown * grown.seconds() : -1,
          .against_past = true};
}

// Of a host, or nobody's.
struct HostWork {
  std::vector<int32_t> ranks;  // that some work is known of
  bool has_peers_elsewhere = false;
  double usual_seconds = 0;
  std::vector<float> of_step;  // the middle of what its ranks work against their own middle; NaN = not known
};

std::vector<HostWork> WorkOfHosts(const TraceAnalysis& analysis) {
  const OwnProfile& profile = analysis.profile;
  const std::vector<char> have_peers = HavePeersElsewhere(*analysis.trace, analysis.roles);
  std::vector<HostWork> work(analysis.trace->hosts.size());
  std::vector<float> usual(profile.ranks, 0);
  for (size_t rank = 0; rank < profile.ranks; ++rank) {
    const int32_t on = analysis.trace->ranks[rank].host;
    usual[rank] = static_cast<float>(
        UsualWorkIn(profile.Row(profile.shared, rank), 0, static_cast<int32_t>(profile.steps)).seconds);
    if (on < 0 || usual[rank] <= 0) continue;
    HostWork& host = work[static_cast<size_t>(on)];
    host.ranks.push_back(static_cast<int32_t>(rank));
    host.has_peers_elsewhere = host.has_peers_elsewhere || have_peers[rank] != 0;
  }
  for (HostWork& host : work) {
    host.usual_seconds =
        static_cast<double>(MiddleAmong(host.ranks, [&](int32_t rank) { return usual[static_cast<size_t>(rank)]; }));
    for (size_t step = 0; step < profile.steps; ++step) {
      host.of_step.push_back(MiddleAmong(host.ranks, [&](int32_t rank) {
        const auto row = static_cast<size_t>(rank);
        return profile.Row(profile.shared, row)[step] / usual[row];
      }));
    }
  }
  return work;
}

// What a host works beyond the middle of the others, in the steps in which that is known.
struct Beyond {
  std::vector<int32_t> steps;
  std::vector<double> work;
};

Beyond BeyondOthers(const std::vector<HostWork>& work, const HostWork& host) {
  Beyond beyond;
  for (size_t step = 0; step < host.of_step.size(); ++step) {
    std::vector<double> others;
    for (const HostWork& other : work) {
      const float value = &other == &host ? std::nanf("") : other.of_step[step];
      if (!std::isnan(value)) others.push_back(static_cast<double>(value));
    }
    if (others.empty() || std::isnan(host.of_step[step])) continue;
    beyond.steps.push_back(static_cast<int32_t>(step));
    beyond.work.push_back(static_cast<double>(host.of_step[step]) - MedianInPlace(&others));
  }
  return beyond;
}

}  // namespace

std::optional<StepShift> FindGrownWork(const TraceAnalysis& analysis, double min_gain) {
  const std::vector<HostWork> work = WorkOfHosts(analysis);
  const double usual_seconds = analysis.steps.usual_seconds;
  std::optional<StepShift> found;
  double most = kSureDeviations;
  for (const HostWork& host : work) {
    if (host.has_peers_elsewhere) continue;
    const Beyond beyond = BeyondOthers(work, host);
    const LevelShift shift = FindLevelShift(WithoutSpikes(beyond.work), kMinSteps);
    const double grown_seconds = (shift.after - shift.before) * host.usual_seconds;
    if (shift.at == 0 || shift.significance < most || grown_seconds < min_gain * usual_seconds) continue;
    most = shift.significance;
    found = {.first_step = beyond.steps[shift.at],
             .before_seconds = usual_seconds,
             .after_seconds = usual_seconds + grown_seconds};
  }
  return found;
}

std::optional<SlowCause> FindGrownAlone(const TraceAnalysis& analysis, const StepShift& shift) {
  const double longer = shift.after_seconds - shift.before_seconds;
  const std::vector<TraceRank>& ranks = analysis.trace->ranks;
  const auto host_of = [&ranks](const Growth& one) { return ranks[static_cast<size_t>(one.rank)].host; };
  const std::vector<Growth> growth = GrowthOf(analysis, shift);
  std::vector<Growth> grown;
  std::copy_if(growth.begin(), growth.end(), std::back_inserter(grown),
               [longer](const Growth& one) { return one.seconds() >= kGrown * longer && one.errors() >= kSureErrors; });
  const bool sure =
      std::any_of(grown.begin(), grown.end(), [](const Growth& one) { return one.errors() >= kMinErrors; });
  if (!sure || host_of(grown[0]) < 0) return std::nullopt;
  const int32_t host = host_of(grown[0]);
  if (std::any_of(grown.begin(), grown.end(), [&](const Growth& one) { return host_of(one) != host; })) {
    return std::nullopt;
  }
  size_t on_host = 0, others = 0, others_same = 0;
  for (const Growth& one : growth) {
    if (host_of(one) == host) {
      ++on_host;
      continue;
    }
    ++others;
    if (one.seconds() < kSame * longer) ++others_same;
  }
  const auto nearly_all = [](size_t part, size_t whole) {
    return static_cast<double>(part) >= kNearlyAll * static_cast<double>(whole);
  };
  if (others == 0 || !nearly_all(others_same, others)) return std::nullopt;
  std::stable_sort(grown.begin(), grown.end(),
                   [](const Growth& a, const Growth& b) { return a.seconds() > b.seconds(); });
  // Who waits for the slowest in operations that are not recorded grows with it, by as much or by less.
  std::erase_if(grown, [most = grown[0].seconds()](const Growth& one) { return one.seconds() < kGrown * most; });
  const bool most_of_host = on_host > 1 && nearly_all(grown.size(), on_host);
  SlowCause cause{
      .kind = most_of_host ? SlowKind::kHost : SlowKind::kCompute, .whole_host = grown.size() > 1, .alone = true};
  for (const Growth& one : grown) cause.suspects.push_back(SuspectOf(analysis, shift, one));
  cause.peer_seconds = cause.suspects.front().before_seconds;
  return cause;
}

}  // namespace lockstep
