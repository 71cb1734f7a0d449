#include "detector/links/link_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "detector/links/path_words.h"
#include "detector/links/transfer_stall.h"
#include "detector/structure/job_change.h"
#include "detector/structure/robust.h"
#include "detector/trace/trace_wording.h"

namespace lockstep {
namespace {

constexpr double kMinRatio = 1.25;
constexpr double kMinDeviations = 6;
constexpr size_t kMinSteps = 3;       // on either side of an onset, and in all
constexpr double kPairedShare = 0.8;  // of an accusation's confidence that is left to a pair of equals
constexpr double kSure = 0.95;
constexpr double kNearlyAll = 0.8;
constexpr size_t kHostsShown = 8;
constexpr double kMostNamed = 0.25;  // of the job's hosts; a cause that lies among more than these names nobody

class Writer {
 public:
  Writer(const Trace& trace, const StepTable& steps, const TransferTable& table, const std::vector<SlowPath>& slow)
      : trace_(trace), steps_(steps), table_(table), slow_(slow) {}

  // The cost is a first estimate, by the excess.
  Verdict Write(const PathCause& cause) const {
    const PathWords& word = WordsOf(cause.kind);
    Verdict verdict;
    verdict.scope = word.scope;
    verdict.verdict_class = word.verdict_class;
    verdict.advice = cause.kind == PathCauseKind::kInside ? Advice::kCordonAndReplace : Advice::kCheckLink;
    std::vector<double> onsets;
    std::vector<double> ratios;
    size_t against_past = 0;
    for (const int32_t path : cause.paths) {
      onsets.push_back(static_cast<double>(slow_[static_cast<size_t>(path)].first_step));
      ratios.push_back(slow_[static_cast<size_t>(path)].ratio);
      against_past += slow_[static_cast<size_t>(path)].against_past ? 1 : 0;
    }
    verdict.first_step = static_cast<int64_t>(Median(std::move(onsets)));
    verdict.last_step = static_cast<int64_t>(table_.steps) - 1;
    AddCulprits(cause, &verdict);
    AddCost(cause, &verdict);
    const auto what = absl::ParsedFormat<'s'>::New(word.what);
    std::string subject = absl::StrFormat(*what, Subject(cause));
    subject[0] = 'W';
    verdict.evidence.push_back(
        {EvidenceKind::kDelayMatrix,
         absl::StrFormat("%s takes %.2f times as long as %s, from step %d on, on %d of the %d paths that have this in "
                         "common; %d paths were compared.",
                         subject, Median(std::move(ratios)),
                         2 * against_past > cause.paths.size() ? "before" : "the same transfers elsewhere",
                         verdict.first_step, cause.paths.size(), cause.predicted, table_.paths.size())});
    return verdict;
  }

 private:
  const std::string& HostName(int32_t host) const { return trace_.hosts[static_cast<size_t>(host)]; }

  std::string Subject(const PathCause& cause) const {
    switch (cause.kind) {
      case PathCauseKind::kSend:
      case PathCauseKind::kReceive:
      case PathCauseKind::kNic: {
        if (cause.ranks.size() != 1) break;
        std::string name = TraceRankName(trace_, cause.ranks[0]);
        name[0] = 'r';
        return name;
      }
      case PathCauseKind::kLink:
        return absl::StrCat("host ", HostName(cause.hosts[0]), " and host ", HostName(cause.hosts[1]));
      case PathCauseKind::kGroup:
        return TraceRankList(trace_, cause.ranks);
      case PathCauseKind::kHost:
      case PathCauseKind::kHosts:
      case PathCauseKind::kInside:
      case PathCauseKind::kFabric:
        break;
    }
    if (cause.hosts.size() == 1) return absl::StrCat("host ", HostName(cause.hosts[0]));
    return absl::StrCat("the ", cause.hosts.size(), " hosts from ", HostName(cause.hosts.front()), " to ",
                        HostName(cause.hosts.back()));
  }

  // Nobody where so many are meant that the evidence tells nothing about any of them.
  void AddCulprits(const PathCause& cause, Verdict* verdict) const {
    const double most = kMostNamed * static_cast<double>(trace_.hosts.size());
    if (cause.hosts.size() > 2 && static_cast<double>(cause.hosts.size()) > most) return;
    switch (cause.kind) {
      case PathCauseKind::kSend:
      case PathCauseKind::kReceive:
      case PathCauseKind::kNic:
        verdict->culprits = {cause.ranks.size() == 1 ? TraceCulprit(trace_, cause.ranks[0], kSure)
                                                     : Culprit{.host = HostName(cause.hosts[0]), .confidence = kSure}};
        return;
      case PathCauseKind::kLink:
        verdict->culprits = {
            {.host = HostName(cause.hosts[0]), .peer_host = HostName(cause.hosts[1]), .confidence = kPairedShare}};
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
      case PathCauseKind::kHost:
      case PathCauseKind::kInside:
      case PathCauseKind::kFabric:
        for (const int32_t host : cause.hosts) {
          verdict->culprits.push_back({.host = HostName(host), .confidence = kPairedShare});
        }
        return;
    }
  }

  // The most that one rank spends on the excess of these paths, step by step.
  void AddCost(const PathCause& cause, Verdict* verdict) const {
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
      double most = 0;
      for (const int32_t path : cause.paths) {
        const double excess =
            static_cast<double>(table_.excess_seconds[static_cast<size_t>(path) * table_.steps + step]) -
            slow_[static_cast<size_t>(path)].excess_before_seconds;
        if (std::isnan(excess) || excess <= 0) continue;
        for (const int32_t rank : table_.paths[static_cast<size_t>(path)].ranks) {
          of_rank[static_cast<size_t>(rank)] += excess;
          most = std::max(most, of_rank[static_cast<size_t>(rank)]);
        }
      }
      for (const int32_t path : cause.paths) {
        for (const int32_t rank : table_.paths[static_cast<size_t>(path)].ranks) of_rank[static_cast<size_t>(rank)] = 0;
      }
      ++known;
      if (most > 0) ++affected;
      costs.push_back(std::min(1.0, most / length));
      lengths.push_back(length);
    }
    if (known == 0) return;
    double share = 0;
    for (const double cost : costs) share += cost / static_cast<double>(known);
    const double length = Median(lengths);
    if (before.size() >= kMinSteps && lengths.size() >= kMinSteps) {
      share = std::min(share, std::max(0.0, 1 - Median(std::move(before)) / length));
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

// Where (nearly) all AllToAlls of a job got slower, more is sent: whom the routing favours is no matter of the network.
void ForgetSharedExchanges(const TransferTable& table, std::vector<SlowPath>* slow) {
  size_t exchanges = 0, slower = 0;
  const auto counts = [&](size_t path) { return table.paths[path].exchange && table.paths[path].crosses_hosts; };
  for (size_t path = 0; path < table.paths.size(); ++path) {
    if (!counts(path)) continue;
    ++exchanges;
    slower += (*slow)[path].slow ? 1 : 0;
  }
  if (exchanges < 2 || static_cast<double>(slower) < kNearlyAll * static_cast<double>(exchanges)) return;
  for (size_t path = 0; path < table.paths.size(); ++path) {
    if (counts(path)) (*slow)[path].slow = false;
  }
}

// Chance makes a transfer longer, never shorter: fewer steps than kMinSteps before the onset tell a level too, if all
// that follow are far above it. How much levels vary is then known from the other paths and steps.
bool IsEarlyOnset(absl::Span<const double> logs, size_t at, double noise) {
  const double before = *std::max_element(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(at));
  const std::vector<double> after(logs.begin() + static_cast<std::ptrdiff_t>(at), logs.end());
  const double jump = Median(after) - before;
  return jump >= std::max(std::log(kMinRatio), kMinDeviations * noise) &&
         *std::min_element(after.begin(), after.end()) >= before + jump / 2;
}

// Where the ratio jumps up for good; 0 = it does not.
size_t OnsetOf(absl::Span<const double> logs, double noise) {
  const LevelShift shift = FindLevelShift(logs, kMinSteps);
  if (shift.at > 0 && shift.after > shift.before && shift.significance >= kMinDeviations) return shift.at;
  for (size_t at = 1; at < kMinSteps && at + kMinSteps <= logs.size(); ++at) {
    if (IsEarlyOnset(logs, at, noise)) return at;
  }
  return 0;
}

// Median over the steps before `step`.
double ExcessBefore(const TransferTable& table, size_t path, size_t step) {
  std::vector<double> known;
  for (const float excess : absl::MakeConstSpan(table.excess_seconds).subspan(path * table.steps, step)) {
    if (!std::isnan(excess)) known.push_back(static_cast<double>(excess));
  }
  return known.empty() ? 0 : Median(std::move(known));
}

// By rank; false where some are not known.
bool HostsOfRanks(const Trace& trace, std::vector<int32_t>* hosts) {
  for (const TraceRank& rank : trace.ranks) hosts->push_back(rank.host);
  return std::none_of(hosts->begin(), hosts->end(), [](int32_t host) { return host < 0; });
}

Verdict OfStall(const Trace& trace, const StepTable& steps, const TransferStall& stall) {
  const double length = steps.usual_seconds;
  const auto since = static_cast<double>(steps.steps - stall.first_step);
  Verdict verdict{.scope = VerdictScope::kNetwork, .verdict_class = VerdictClass::kGroupSlow};
  verdict.first_step = stall.first_step;
  verdict.last_step = stall.last_step;
  verdict.cost = {.slowdown_fraction = stall.share,
                  .seconds_per_step = stall.seconds / since,
                  .steps_affected_fraction = static_cast<double>(stall.steps) / since};
  verdict.advice = Advice::kCheckLink;
  const double confidence = stall.told_apart ? kPairedShare : 1.0 / static_cast<double>(stall.hosts.size());
  std::vector<std::string> names;
  for (const int32_t host : stall.hosts) {
    const std::string& name = trace.hosts[static_cast<size_t>(host)];
    verdict.culprits.push_back({.host = name, .confidence = confidence});
    if (names.size() < kHostsShown) names.push_back(name);
  }
  verdict.evidence.push_back(
      {EvidenceKind::kDelayMatrix,
       absl::StrFormat("In %d of the steps from %d to %d, transfers on %d of %d paths stood still for about %.3g s in "
                       "all, where a usual step takes %.3g s; %s of %d hosts: %s%s.",
                       stall.steps, stall.first_step, stall.last_step, stall.stalled_paths, stall.compared_paths,
                       stall.seconds, length, stall.told_apart ? "all of them touch one side" : "they lie between ends",
                       stall.hosts.size(), absl::StrJoin(names, ", "),
                       names.size() < stall.hosts.size() ? ", ..." : "")});
  return verdict;
}

}  // namespace

std::vector<SlowPath> FindSlowPaths(const TransferTable& table) {
  const double limit = std::max(kMinRatio, std::exp(kMinDeviations * table.noise));
  std::vector<SlowPath> slow(table.paths.size());
  for (size_t path = 0; path < table.paths.size(); ++path) {
    const auto row = absl::MakeConstSpan(table.ratio).subspan(path * table.steps, table.steps);
    std::vector<double> logs;
    std::vector<size_t> step_of;
    for (size_t step = 0; step < table.steps; ++step) {
      if (std::isnan(row[step]) || row[step] <= 0) continue;
      logs.push_back(std::log(static_cast<double>(row[step])));
      step_of.push_back(step);
    }
    if (logs.size() < kMinSteps) continue;
    const size_t from = OnsetOf(logs, table.noise);
    const auto at = logs.begin() + static_cast<std::ptrdiff_t>(from);
    const double ratio = std::exp(Median({at, logs.end()}));
    // Where most paths of one duty are slow they are no reference; the path's own past is.
    const double against_past = from == 0 ? 0 : std::exp(Median({at, logs.end()}) - Median({logs.begin(), at}));
    slow[path] = {.first_step = from == 0 ? 0 : step_of[from],
                  .ratio = std::max(ratio, against_past),
                  .against_past = against_past > kMinRatio * ratio};
    slow[path].slow = slow[path].ratio >= limit;
    if (from > 0) slow[path].excess_before_seconds = std::min(0.0, ExcessBefore(table, path, step_of[from]));
  }
  ForgetSharedExchanges(table, &slow);
  return slow;
}

std::vector<SlowLink> FindSlowLinks(const Trace& trace, const TransferTable& table, const StepTable& steps) {
  if (steps.steps < static_cast<int32_t>(kMinSteps)) return {};
  std::vector<int32_t> host_of;
  if (!HostsOfRanks(trace, &host_of)) return {};
  const std::vector<SlowPath> slow = FindSlowPaths(table);
  std::vector<VotePath> paths;
  for (size_t path = 0; path < table.paths.size(); ++path) {
    paths.push_back({.ranks = table.paths[path].ranks,
                     .point_to_point = table.paths[path].point_to_point,
                     .exchange = table.paths[path].exchange,
                     .slow = slow[path].slow});
  }
  const Writer writer(trace, steps, table, slow);
  std::vector<SlowLink> links;
  for (const PathCause& cause : VoteOnPaths(paths, host_of)) {
    SlowLink link{.verdict = writer.Write(cause)};
    link.transfers.first_step = static_cast<int32_t>(link.verdict.first_step);
    link.transfers.excess_seconds = link.verdict.cost.seconds_per_step;
    if (cause.kind != PathCauseKind::kInside) link.transfers.ranks = cause.ranks;
    for (const int32_t path : cause.paths) {
      const SlowPath& of_path = slow[static_cast<size_t>(path)];
      link.transfers.channels.push_back({.channel = table.paths[static_cast<size_t>(path)].channel,
                                         .first_step = static_cast<int32_t>(of_path.first_step),
                                         .ratio = of_path.ratio});
    }
    links.push_back(std::move(link));
  }
  return links;
}

void TellCost(const HealingGain& gain, Verdict* verdict) {
  if (gain.step_seconds > 0) {
    verdict->cost.slowdown_fraction = gain.slowdown();
    verdict->cost.seconds_per_step = gain.steps_affected * gain.seconds_per_step;
  }
  verdict->evidence.push_back(
      {EvidenceKind::kWhatIf,
       absl::StrFormat("%s at the usual transfer time, a step would be %.1f ms (%.1f %%) shorter.",
                       gain.replayed ? "Replayed" : "By its excess,", 1e3 * verdict->cost.seconds_per_step,
                       100 * verdict->cost.slowdown_fraction)});
}

std::vector<Verdict> FindStalls(const Trace& trace, const TransferTable& table, const StepTable& steps,
                                double min_cost) {
  std::vector<int32_t> host_of;
  if (steps.steps < static_cast<int32_t>(kMinSteps) || !HostsOfRanks(trace, &host_of)) return {};
  const TransferStall stall = FindTransferStall(table, steps, host_of, min_cost);
  if (stall.steps == 0) return {};
  return {OfStall(trace, steps, stall)};
}

}  // namespace lockstep
