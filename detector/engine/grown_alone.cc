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

// By host: some rank of another one has the same duty as one of its own.
std::vector<char> HavePeersElsewhere(const TraceAnalysis& analysis) {
  std::vector<char> have(analysis.trace->hosts.size(), 0);
  for (const std::vector<int32_t>& peers : analysis.roles.classes) {
    const auto host_of = [&](int32_t rank) { return analysis.trace->ranks[static_cast<size_t>(rank)].host; };
    const bool elsewhere =
        std::any_of(peers.begin(), peers.end(), [&](int32_t rank) { return host_of(rank) != host_of(peers[0]); });
    for (const int32_t rank : peers) {
      if (elsewhere && host_of(rank) >= 0) have[static_cast<size_t>(host_of(rank))] = 1;
    }
  }
  return have;
}

// Of each host and step: the middle of what its ranks work against their own middle. NaN = not known.
std::vector<std::vector<double>> WorkOfHosts(const TraceAnalysis& analysis, std::vector<double>* usual_seconds) {
  const OwnProfile& profile = analysis.profile;
  std::vector<std::vector<std::vector<double>>> of_host(analysis.trace->hosts.size(),
                                                        std::vector<std::vector<double>>(profile.steps));
  std::vector<std::vector<double>> usual(of_host.size());
  for (size_t rank = 0; rank < profile.ranks; ++rank) {
    const int32_t host = analysis.trace->ranks[rank].host;
    const absl::Span<const float> row = profile.Row(profile.shared, rank);
    const double middle = UsualWorkIn(row, 0, static_cast<int32_t>(profile.steps)).seconds;
    if (host < 0 || middle <= 0) continue;
    usual[static_cast<size_t>(host)].push_back(middle);
    for (size_t step = 0; step < profile.steps; ++step) {
      if (std::isnan(row[step])) continue;
      of_host[static_cast<size_t>(host)][step].push_back(static_cast<double>(row[step]) / middle);
    }
  }
  std::vector<std::vector<double>> work;
  for (size_t host = 0; host < of_host.size(); ++host) {
    usual_seconds->push_back(MedianInPlace(&usual[host]));
    std::vector<double>& row = work.emplace_back();
    for (std::vector<double>& known : of_host[host]) {
      row.push_back(known.empty() ? std::nan("") : MedianInPlace(&known));
    }
  }
  return work;
}

}  // namespace

std::optional<StepShift> FindGrownWork(const TraceAnalysis& analysis, double min_gain) {
  const std::vector<char> have_peers = HavePeersElsewhere(analysis);
  std::vector<double> usual_seconds;
  const std::vector<std::vector<double>> work = WorkOfHosts(analysis, &usual_seconds);
  std::optional<StepShift> found;
  double most = kSureDeviations;
  for (size_t host = 0; host < work.size(); ++host) {
    if (have_peers[host] != 0) continue;
    std::vector<double> against;
    std::vector<int32_t> step_of;
    for (size_t step = 0; step < work[host].size(); ++step) {
      std::vector<double> others;
      for (size_t other = 0; other < work.size(); ++other) {
        if (other != host && !std::isnan(work[other][step])) others.push_back(work[other][step]);
      }
      if (others.empty() || std::isnan(work[host][step])) continue;
      against.push_back(work[host][step] - MedianInPlace(&others));
      step_of.push_back(static_cast<int32_t>(step));
    }
    const LevelShift shift = FindLevelShift(WithoutSpikes(against), kMinSteps);
    const double grown = (shift.after - shift.before) * usual_seconds[host];
    if (shift.at == 0 || shift.significance < most || grown < min_gain * analysis.steps.usual_seconds) continue;
    most = shift.significance;
    found = {.first_step = step_of[shift.at],
             .before_seconds = analysis.steps.usual_seconds,
             .after_seconds = analysis.steps.usual_seconds + grown};
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
