#include "detector/network/link_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "detector/network/path_class.h"
#include "detector/network/slow_paths.h"
#include "detector/network/slow_places.h"
#include "detector/network/transfer_stall.h"
#include "detector/stats/robust.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/many_named.h"
#include "detector/verdict/network_reasons.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// Steps that stood still, where several hosts may be to blame, or the part of a usual step: once for less may be
// chance.
constexpr int64_t kMinStallsOfSeveral = 2;
constexpr double kMinStallOfSeveral = kMainPart;
// As many as a sentence lists.
constexpr size_t kHostsShown = 8;

class Writer {
 public:
  Writer(const Trace& trace, const StepTable& steps, const TransferTable& table, const std::vector<SlowPath>& slow)
      : trace_(trace), steps_(steps), table_(table), slow_(slow) {}

  // The cost is a first estimate, by the excess.
  Verdict Write(const SlowPlace& place) const {
    const PathCause& cause = place.cause;
    const std::vector<char>& in_step = place.in_step;
    const PathClass& row = ClassOf(cause.kind);
    Verdict verdict = Verdict::Accusation(row.scope, row.verdict_class);
    verdict.advice = cause.kind == PathCauseKind::kInside ? Advice::kCordonAndReplace : Advice::kCheckLink;
    std::vector<double> ratios;
    size_t against_past = 0;
    for (const int32_t path : cause.paths) {
      ratios.push_back(slow_[static_cast<size_t>(path)].ratio);
      against_past += slow_[static_cast<size_t>(path)].against_past ? 1 : 0;
    }
    verdict.first_step = static_cast<int64_t>(place.first_step);
    verdict.last_step = static_cast<int64_t>(table_.steps) - 1;
    while (!in_step.empty() && in_step[static_cast<size_t>(verdict.last_step)] == 0) --verdict.last_step;
    // Only a change says that something is at fault where networks are built so.
    if (!place.may_be_built_so) AddCulprits(cause, &verdict);
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
                                                       .may_be_built_so = place.may_be_built_so}});
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

// Their cost is not known yet.
SlowTransfers TransfersOf(const SlowPlace& place, const TransferTable& table, const std::vector<SlowPath>& slow,
                          const std::vector<int32_t>& host_of) {
  const PathCause& cause = place.cause;
  SlowTransfers transfers{.first_step = static_cast<int32_t>(place.first_step), .in_step = place.in_step};
  const bool of_one_rank = cause.ranks.size() == 1 || cause.kind == PathCauseKind::kGroup;
  if (cause.kind != PathCauseKind::kInside && of_one_rank) transfers.ranks = cause.ranks;
  std::set<int32_t> hosts;
  for (const int32_t index : cause.paths) {
    const auto path = static_cast<size_t>(index);
    for (const int32_t rank : table.paths[path].ranks) hosts.insert(host_of[static_cast<size_t>(rank)]);
    transfers.channels.push_back(
        {.channel = table.paths[path].channel, .first_step = transfers.first_step, .ratio = slow[path].ratio});
  }
  transfers.hosts.assign(hosts.begin(), hosts.end());
  return transfers;
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

}  // namespace

std::vector<SlowLink> FindSlowLinks(const Trace& trace, const TransferTable& table, const StepTable& steps) {
  std::vector<int32_t> host_of;
  if (steps.steps < static_cast<int32_t>(kMinSlowSteps) || !HostsOfRanks(trace, &host_of)) return {};
  const std::vector<SlowPath> slow = FindSlowPaths(table);
  const Writer writer(trace, steps, table, slow);
  std::vector<SlowLink> links;
  for (const SlowPlace& place : FindSlowPlaces(table, slow, host_of)) {
    SlowLink link{.verdict = writer.Write(place), .transfers = TransfersOf(place, table, slow, host_of)};
    link.transfers.excess_seconds = link.verdict.cost.seconds_per_step;
    links.push_back(std::move(link));
  }
  return links;
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
