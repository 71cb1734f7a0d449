#include "detector/network/link_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "detector/network/path_class.h"
#include "detector/network/slow_paths.h"
#include "detector/network/transfer_stall.h"
#include "detector/stats/robust.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/many_named.h"
#include "detector/verdict/network_reasons.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// Paths of the network that are slow in the same steps: chance, which others that share it are, slows one at a time.
constexpr size_t kMinAgreeing = 2;
// Steps that stood still, where several hosts may be to blame, or the part of a usual step: once for less may be
// chance.
constexpr int64_t kMinStallsOfSeveral = 2;
constexpr double kMinStallOfSeveral = kMainPart;
// More than fail side by side (joined_causes.h).
constexpr std::ptrdiff_t kManyLinks = 3;
// As a logarithm, than the middle one of all that are slow: its square.
constexpr double kFarSlower = 2;
// Places that are slow: as many as path_vote.h joins, where they are of one kind.
constexpr size_t kManyCauses = 3;
// As many as a sentence lists.
constexpr size_t kHostsShown = 8;

class Writer {
 public:
  Writer(const Trace& trace, const StepTable& steps, const TransferTable& table, const std::vector<SlowPath>& slow)
      : trace_(trace), steps_(steps), table_(table), slow_(slow) {}

  // The cost is a first estimate, by the excess. `in_step`: in which it is slow; empty = in all from the onset on.
  Verdict Write(const PathCause& cause, size_t first_step, absl::Span<const char> in_step) const {
    const PathClass& row = ClassOf(cause.kind);
    Verdict verdict = Verdict::Accusation(row.scope, row.verdict_class);
    verdict.advice = cause.kind == PathCauseKind::kInside ? Advice::kCordonAndReplace : Advice::kCheckLink;
    std::vector<double> ratios;
    size_t against_past = 0;
    for (const int32_t path : cause.paths) {
      ratios.push_back(slow_[static_cast<size_t>(path)].ratio);
      against_past += slow_[static_cast<size_t>(path)].against_past ? 1 : 0;
    }
    verdict.first_step = static_cast<int64_t>(first_step);
    verdict.last_step = static_cast<int64_t>(table_.steps) - 1;
    while (!in_step.empty() && in_step[static_cast<size_t>(verdict.last_step)] == 0) --verdict.last_step;
    // Parts of a network have fewer ways between them than within, so that only a change says that one is at fault.
    const bool may_be_built_so = cause.kind == PathCauseKind::kFabric && in_step.empty() && first_step == 0;
    if (!may_be_built_so) AddCulprits(cause, &verdict);
    AddCost(cause, in_step, &verdict);
    verdict.evidence.push_back(
        {EvidenceKind::kDelayMatrix, SlowPathTransfers{.place = PlaceOf(cause),
                                                       .times = LowerMedianOrNan(std::move(ratios)),
                                                       .against_past = 2 * against_past > cause.paths.size(),
                                                       .in_some_steps = !in_step.empty(),
                                                       .slow_steps = std::count(in_step.begin(), in_step.end(), 1),
                                                       .first_step = verdict.first_step,
                                                       .last_step = verdict.last_step,
                                                       .paths = cause.paths.size(),
                                                       .predicted = cause.predicted,
                                                       .compared = table_.paths.size(),
                                                       .may_be_built_so = may_be_built_so}});
    return verdict;
  }

 private:
  const std::string& HostName(int32_t host) const { return trace_.hosts[static_cast<size_t>(host)]; }

  PathPlace PlaceOf(const PathCause& cause) const {
    PathPlace place{.kind = cause.kind, .ranks = NumbersOf(trace_, cause.ranks), .hosts = {}};
    for (const int32_t host : cause.hosts) place.hosts.push_back(HostName(host));
    return place;
  }

  // Nobody where so many are meant that the evidence tells nothing about any of them. Of a group the members count, not
  // the hosts that it spans.
  void AddCulprits(const PathCause& cause, Verdict* verdict) const {
    const bool few = cause.kind == PathCauseKind::kGroup ? IsFewOf(cause.ranks.size(), trace_.ranks.size())
                                                         : IsFewOf(cause.hosts.size(), trace_.hosts.size());
    if (!few) return;
    switch (cause.kind) {
      case PathCauseKind::kSend:
      case PathCauseKind::kReceive:
      case PathCauseKind::kNic:
        verdict->culprits = {cause.ranks.size() == 1
                                 ? TraceCulprit(trace_, cause.ranks[0], kSureConfidence)
                                 : Culprit{.host = HostName(cause.hosts[0]), .confidence = kSureConfidence}};
        return;
      case PathCauseKind::kLink:
        verdict->culprits = {
            {.host = HostName(cause.hosts[0]), .peer_host = HostName(cause.hosts[1]), .confidence = kLikelyConfidence}};
        return;
      case PathCauseKind::kGroup:
        for (const int32_t rank : cause.ranks) {
          verdict->culprits.push_back(TraceCulprit(trace_, rank, 1.0 / static_cast<double>(cause.ranks.size())));
        }
        return;
      case PathCauseKind::kHosts:
        for (const int32_t host : cause.hosts) {
          verdict->culprits.push_back(
              {.host = HostName(host), .confidence = 1.0 / static_cast<double>(cause.hosts.size())});
        }
        return;
      case PathCauseKind::kWithin:
        return;
      case PathCauseKind::kHost:
      case PathCauseKind::kInside:
      case PathCauseKind::kFabric:
        for (const int32_t host : cause.hosts) {
          verdict->culprits.push_back(
              {.host = HostName(host),
               .confidence = cause.told_apart ? kLikelyConfidence : 1.0 / static_cast<double>(cause.hosts.size())});
        }
        return;
    }
  }

  // The most that one rank spends on the excess of these paths in a step. `of_rank`: zeros, by rank.
  double MostExcess(const PathCause& cause, size_t step, std::vector<double>* of_rank) const {
    double most = 0;
    for (const int32_t path : cause.paths) {
      const double excess =
          static_cast<double>(table_.excess_seconds[static_cast<size_t>(path) * table_.steps + step]) -
          slow_[static_cast<size_t>(path)].excess_before_seconds;
      if (std::isnan(excess) || excess <= 0) continue;
      for (const int32_t rank : table_.paths[static_cast<size_t>(path)].ranks) {
        most = std::max(most, (*of_rank)[static_cast<size_t>(rank)] += excess);
      }
    }
    for (const int32_t path : cause.paths) {
      for (const int32_t rank : table_.paths[static_cast<size_t>(path)].ranks)
        (*of_rank)[static_cast<size_t>(rank)] = 0;
    }
    return most;
  }

  // Step by step.
  void AddCost(const PathCause& cause, absl::Span<const char> in_step, Verdict* verdict) const {
    std::vector<double> costs;
    std::vector<double> lengths;
    std::vector<double> before;
    size_t affected = 0;
    size_t known = 0;
    std::vector<double> of_rank(trace_.ranks.size(), 0);
    for (size_t step = 0; step < table_.steps; ++step) {
      const double length = steps_.step_seconds[step];
      if (length <= 0) continue;
      if (static_cast<int64_t>(step) < verdict->first_step) {
        if (steps_.usual[step] != 0) before.push_back(length);
        continue;
      }
      const double most = in_step.empty() || in_step[step] != 0 ? MostExcess(cause, step, &of_rank) : 0;
      ++known;
      if (most > 0) ++affected;
      costs.push_back(std::min(1.0, most / length));
      lengths.push_back(length);
    }
    if (known == 0) return;
    double share = 0;
    for (const double cost : costs) share += cost / static_cast<double>(known);
    const double length = LowerMedianOrNan(lengths);
    if (before.size() >= kMinSlowSteps && lengths.size() >= kMinSlowSteps) {
      share = std::min(share, std::max(0.0, 1 - LowerMedianOrNan(std::move(before)) / length));
    }
    verdict->cost = {.slowdown_fraction = share,
                     .seconds_per_step = share * length,
                     .steps_affected_fraction = static_cast<double>(affected) / static_cast<double>(known)};
  }

  const Trace& trace_;
  const StepTable& steps_;
  const TransferTable& table_;
  const std::vector<SlowPath>& slow_;
};

// By rank; false where some are not known.
bool HostsOfRanks(const Trace& trace, std::vector<int32_t>* hosts) {
  for (const TraceRank& rank : trace.ranks) hosts->push_back(rank.host);
  return std::none_of(hosts->begin(), hosts->end(), [](int32_t host) { return host < 0; });
}

Verdict OfStall(const Trace& trace, const StepTable& steps, const TransferStall& stall) {
  const double length = steps.usual_seconds;
  const auto since = static_cast<double>(steps.steps - stall.first_step);
  const PathClass& row = ClassOf(stall.kind);
  Verdict verdict = Verdict::Accusation(row.scope, row.verdict_class);
  verdict.first_step = stall.first_step;
  verdict.last_step = stall.last_step;
  verdict.cost = {.slowdown_fraction = stall.share,
                  .seconds_per_step = stall.seconds / since,
                  .steps_affected_fraction = static_cast<double>(stall.steps) / since};
  verdict.advice = Advice::kCheckLink;
  // What happened once to one path is a hiccup of any of its ends. What happened once for a moment, among hosts that
  // nothing tells apart, says nothing about any of them.
  const bool hiccup = stall.steps == 1 && stall.stalled_paths == 1;
  const bool lasts = stall.steps >= kMinStallsOfSeveral || stall.seconds >= kMinStallOfSeveral * length;
  const bool named = !hiccup && (stall.told_apart || lasts) && IsFewOf(stall.hosts.size(), trace.hosts.size());
  const double confidence = stall.told_apart ? kLikelyConfidence : 1.0 / static_cast<double>(stall.hosts.size());
  const bool link = stall.kind == PathCauseKind::kLink;
  if (link && !hiccup) {
    verdict.culprits = {{.host = trace.hosts[static_cast<size_t>(stall.hosts[0])],
                         .peer_host = trace.hosts[static_cast<size_t>(stall.hosts[1])],
                         .confidence = kLikelyConfidence}};
  }
  std::vector<std::string> names;
  for (const int32_t host : stall.hosts) {
    const std::string& name = trace.hosts[static_cast<size_t>(host)];
    if (named && !link) verdict.culprits.push_back({.host = name, .confidence = confidence});
    if (names.size() < kHostsShown) names.push_back(name);
  }
  verdict.evidence.push_back({EvidenceKind::kDelayMatrix, StalledTransfers{.steps = stall.steps,
                                                                           .first_step = stall.first_step,
                                                                           .last_step = stall.last_step,
                                                                           .stalled_paths = stall.stalled_paths,
                                                                           .compared_paths = stall.compared_paths,
                                                                           .seconds = stall.seconds,
                                                                           .usual_step_seconds = length,
                                                                           .told_apart = stall.told_apart,
                                                                           .hosts = stall.hosts.size(),
                                                                           .named_hosts = std::move(names)}});
  return verdict;
}

// What paths that are slow, for good or at times, have in common.
class LinkSearch {
 public:
  LinkSearch(const Trace& trace, const TransferTable& table, const StepTable& steps,
             const std::vector<int32_t>& host_of)
      : table_(table),
        host_of_(host_of),
        slow_(FindSlowPaths(table)),
        explained_(slow_.size(), 0),
        writer_(trace, steps, table, slow_) {}

  std::vector<SlowLink> Run() {
    const auto for_good = [](const SlowPath& path) { return path.slow; };
    const Foremost lasting = FarSlower(for_good);
    for (const PathCause& cause : lasting.causes) AddLasting(cause);
    for (const PathCause& cause : Vote(for_good, lasting.paths)) {
      if (IsOnePlace(cause)) AddLasting(cause);
    }
    // What is slow half of the time looks lasting on some of its paths and passing on others, and what is so on some
    // may tell whom of a group the others are slow by: these vote again, together.
    const auto ever = [](const SlowPath& path) { return path.slow || path.at_times; };
    for (const PathCause& cause : FarSlower(ever).causes) AddAny(cause);
    for (const PathCause& cause : Vote(ever, {})) AddAny(cause);
    NameNoneOfManyLinks();
    return std::move(links_);
  }

 private:
  // Many links at once that were never quicker: networks have domains between which they are built so. Those that show
  // on less than half as many paths as the main one do not count (joined_causes.h).
  void NameNoneOfManyLinks() {
    size_t most = 1;
    for (const SlowLink& link : links_) most = std::max(most, PathsIfNeverQuicker(link));
    const auto counts = [most](const SlowLink& link) { return 2 * PathsIfNeverQuicker(link) >= most; };
    if (std::count_if(links_.begin(), links_.end(), counts) < kManyLinks) return;
    for (SlowLink& link : links_) {
      if (!counts(link)) continue;
      SlowPathTransfers told = *FindReason<SlowPathTransfers>(link.verdict);
      told.may_be_built_so = true;
      link.verdict.culprits.clear();
      link.verdict.evidence.front().reason = std::move(told);
    }
  }

  static size_t PathsIfNeverQuicker(const SlowLink& link) {
    const bool never_quicker = link.transfers.in_step.empty() && link.transfers.first_step == 0;
    const bool counts = never_quicker && link.verdict.verdict_class == VerdictClass::kLinkSlow;
    return counts ? link.transfers.channels.size() : 0;
  }

  struct Foremost {
    std::vector<char> paths;  // by path: 1 = far slower than most that are slow; empty = none is
    std::vector<PathCause> causes;
  };

  // Slow paths that are far slower than most, where the vote of all does not come to one place for each and its like.
  // What one adapter holds up makes others share what is left: these are its echoes, and do not vote here.
  Foremost FarSlower(absl::FunctionRef<bool(const SlowPath&)> is_slow) const {
    std::vector<int32_t> slow;
    for (size_t path = 0; path < slow_.size(); ++path) {
      const bool counts = explained_[path] == 0 && table_.paths[path].crosses_hosts && is_slow(slow_[path]);
      if (counts) slow.push_back(static_cast<int32_t>(path));
    }
    if (slow.empty()) return {};
    const std::vector<PathCause> all = Vote(is_slow, {});
    if (AreFewPlaces(all, slow.size())) return {};
    const double far = kFarSlower * UsualLogOf(slow);
    Foremost foremost{.paths = std::vector<char>(slow_.size(), 0)};
    std::vector<char> lesser(slow_.size(), 0);
    for (const int32_t path : slow) (LogOf(path) >= far ? foremost.paths : lesser)[static_cast<size_t>(path)] = 1;
    std::vector<char> open = foremost.paths;
    for (const PathCause& cause : all) {
      if (!IsOnePlace(cause) || UsualLogOf(cause.paths) < far) continue;
      for (const int32_t path : cause.paths) open[static_cast<size_t>(path)] = 0;
    }
    if (std::count(open.begin(), open.end(), 1) == 0) return {};
    foremost.causes = Vote(is_slow, lesser);
    std::erase_if(foremost.causes,
                  [](const PathCause& cause) { return !IsOnePlace(cause) || cause.paths.size() < kMinAgreeing; });
    return foremost;
  }

  // They explain all of so many slow paths between hosts.
  bool AreFewPlaces(const std::vector<PathCause>& causes, size_t slow) const {
    size_t explained = 0;
    for (const PathCause& cause : causes) {
      if (!IsOnePlace(cause)) return false;
      explained += static_cast<size_t>(std::count_if(cause.paths.begin(), cause.paths.end(), [&](int32_t path) {
        return table_.paths[static_cast<size_t>(path)].crosses_hosts;
      }));
    }
    return explained == slow && causes.size() < kManyCauses;
  }

  double LogOf(int32_t path) const { return std::log(slow_[static_cast<size_t>(path)].ratio); }

  double UsualLogOf(const std::vector<int32_t>& paths) const {
    std::vector<double> logs;
    for (const int32_t path : paths) logs.push_back(LogOf(path));
    return LowerMedianOrNan(std::move(logs));
  }

  static bool IsOnePlace(const PathCause& cause) {
    return cause.kind != PathCauseKind::kFabric && cause.kind != PathCauseKind::kGroup &&
           cause.kind != PathCauseKind::kHosts && cause.kind != PathCauseKind::kWithin;
  }

  void AddPassing(const PathCause& cause) {
    const bool lasting = std::any_of(cause.paths.begin(), cause.paths.end(),
                                     [&](int32_t path) { return slow_[static_cast<size_t>(path)].slow; });
    const bool is_shared = cause.kind != PathCauseKind::kInside;
    if (lasting || !is_shared || cause.paths.size() >= kMinAgreeing) AddAtTimes(cause);
  }

  void AddAny(const PathCause& cause) {
    if (!AddLasting(cause)) AddPassing(cause);
  }

  // Unless it comes and goes: then its paths are left to the next vote.
  bool AddLasting(const PathCause& cause) {
    std::vector<double> onsets;
    for (const int32_t path : cause.paths) {
      onsets.push_back(static_cast<double>(slow_[static_cast<size_t>(path)].first_step));
    }
    const auto onset = static_cast<size_t>(LowerMedianOrNan(std::move(onsets)));
    if (ShareOf(SlowSteps(table_, slow_, cause.paths, onset), onset) < kAlwaysSlow) return false;
    Add(cause, onset, {});
    return true;
  }

  // On the paths that are not explained yet. `without`: by path, 1 = it has no vote; empty = all have.
  std::vector<PathCause> Vote(absl::FunctionRef<bool(const SlowPath&)> is_slow,
                              const std::vector<char>& without) const {
    std::vector<VotePath> paths;
    std::vector<int32_t> path_of;
    for (size_t path = 0; path < table_.paths.size(); ++path) {
      if (explained_[path] != 0 || (!without.empty() && without[path] != 0)) continue;
      path_of.push_back(static_cast<int32_t>(path));
      paths.push_back({.ranks = table_.paths[path].ranks,
                       .point_to_point = table_.paths[path].point_to_point,
                       .exchange = table_.paths[path].exchange,
                       .slow = is_slow(slow_[path])});
    }
    std::vector<PathCause> causes = VoteOnPaths(paths, host_of_);
    for (PathCause& cause : causes) {
      for (int32_t& path : cause.paths) path = path_of[static_cast<size_t>(path)];
    }
    return causes;
  }

  // Where most of its paths agree in enough of the steps.
  void AddAtTimes(const PathCause& cause) {
    std::vector<char> in_step = SlowSteps(table_, slow_, cause.paths, 0);
    const auto first = static_cast<size_t>(std::find(in_step.begin(), in_step.end(), 1) - in_step.begin());
    if (static_cast<size_t>(std::count(in_step.begin(), in_step.end(), 1)) < kMinSlowSteps) return;
    if (ShareOf(in_step, first) >= kMinSlowShare) Add(cause, first, std::move(in_step));
  }

  static double ShareOf(absl::Span<const char> in_step, size_t first) {
    const auto begin = in_step.begin() + static_cast<std::ptrdiff_t>(first);
    return static_cast<double>(std::count(begin, in_step.end(), 1)) / static_cast<double>(in_step.size() - first);
  }

  void Add(const PathCause& cause, size_t first_step, std::vector<char> in_step) {
    SlowLink link{.verdict = writer_.Write(cause, first_step, in_step)};
    link.transfers.first_step = static_cast<int32_t>(first_step);
    link.transfers.in_step = std::move(in_step);
    link.transfers.excess_seconds = link.verdict.cost.seconds_per_step;
    const bool of_one_rank = cause.ranks.size() == 1 || cause.kind == PathCauseKind::kGroup;
    if (cause.kind != PathCauseKind::kInside && of_one_rank) link.transfers.ranks = cause.ranks;
    std::set<int32_t> hosts;
    for (const int32_t path : cause.paths) {
      explained_[static_cast<size_t>(path)] = 1;
      for (const int32_t rank : table_.paths[static_cast<size_t>(path)].ranks) {
        hosts.insert(host_of_[static_cast<size_t>(rank)]);
      }
      link.transfers.channels.push_back({.channel = table_.paths[static_cast<size_t>(path)].channel,
                                         .first_step = static_cast<int32_t>(first_step),
                                         .ratio = slow_[static_cast<size_t>(path)].ratio});
    }
    link.transfers.hosts.assign(hosts.begin(), hosts.end());
    links_.push_back(std::move(link));
  }

  const TransferTable& table_;
  const std::vector<int32_t>& host_of_;
  const std::vector<SlowPath> slow_;
  std::vector<char> explained_;  // by path
  const Writer writer_;
  std::vector<SlowLink> links_;
};

}  // namespace

std::vector<SlowLink> FindSlowLinks(const Trace& trace, const TransferTable& table, const StepTable& steps) {
  std::vector<int32_t> host_of;
  if (steps.steps < static_cast<int32_t>(kMinSlowSteps) || !HostsOfRanks(trace, &host_of)) return {};
  return LinkSearch(trace, table, steps, host_of).Run();
}

std::vector<Verdict> FindStalls(const Trace& trace, const TransferTable& table, const StepTable& steps,
                                const std::vector<SlowLink>& links, double min_cost) {
  std::vector<int32_t> host_of;
  if (steps.steps < static_cast<int32_t>(kMinSlowSteps) || !HostsOfRanks(trace, &host_of)) return {};
  std::vector<int32_t> explained;
  for (const SlowLink& link : links) {
    for (const SlowChannel& slow : link.transfers.channels) explained.push_back(slow.channel);
  }
  std::sort(explained.begin(), explained.end());
  const TransferStall stall = FindTransferStall(table, steps, host_of, explained, min_cost);
  if (stall.steps == 0) return {};
  return {OfStall(trace, steps, stall)};
}

}  // namespace lockstep
