#include "detector/slow/late_return.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/shares.h"
#include "detector/slow/intermittent_excess.h"
#include "detector/slow/program_duty.h"
#include "detector/stats/order_statistics.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/reason.h"

namespace lockstep {
namespace {

constexpr double kQuicker = kMinorPart;  // quantile of the hosts that says how long the pause is
constexpr double kLateBy = kMinorPart;   // of the pause, beyond the second latest host
constexpr size_t kMinHosts = 2;          // of one nobody knows whether it is late
// One or two before may be of another kind than those that a program saves in: a start, an evaluation.
constexpr size_t kMinPast = 3;

// One pause: who came back last, and by how much.
struct Return {
  int32_t step = 0;
  int32_t latest = -1;  // host; -1 = nobody by much
  double later_seconds = 0;
  std::vector<int32_t> late_ranks;  // of it, by index
  bool all_late = false;            // several ranks of it pause, and nearly all are late
};

// The longest piece of own work on a host.
struct Longest {
  int32_t rank = -1;
  double seconds = -1;  // negative = not known

  void Take(int32_t other, double other_seconds) {
    if (other_seconds > seconds) *this = {other, other_seconds};
  }
};

class Search {
 public:
  Search(const TraceAnalysis& analysis, const PersistenceOptions& options) : analysis_(analysis), options_(options) {
    NoteUsual();
    const StepTable& steps = analysis.steps;
    for (int32_t step = 1; step < steps.steps; ++step) {
      const auto at = static_cast<size_t>(step);
      const bool waited = at < steps.waited.size() && steps.waited[at] != 0;
      if (steps.usual[at] == 0 && !waited && steps.step_seconds[at] > 0) Look(step);
    }
  }

  std::vector<Verdict> Run() const {
    std::vector<Verdict> verdicts;
    for (size_t host = 0; host < analysis_.trace->hosts.size(); ++host) {
      const auto first = std::find_if(returns_.begin(), returns_.end(),
                                      [host](const Return& one) { return one.latest == static_cast<int32_t>(host); });
      const std::vector<Return> since(first, returns_.end());
      if (StandsOut(static_cast<int32_t>(host), since)) AddVerdict(host, since, &verdicts);
    }
    return verdicts;
  }

 private:
  size_t hosts() const { return analysis_.trace->hosts.size(); }

  // What is the longest piece of a host's work in the middle one of its usual steps.
  void NoteUsual() {
    const OwnProfile& profile = analysis_.profile;
    std::vector<std::vector<double>> of_host(hosts());
    for (size_t step = 0; step < profile.steps; ++step) {
      std::vector<Longest> longest(hosts());
      for (size_t rank = 0; rank < profile.ranks; ++rank) {
        const int32_t host = analysis_.trace->ranks[rank].host;
        const float largest = profile.Row(profile.largest, rank)[step];
        if (host < 0 || std::isnan(largest)) continue;
        longest[static_cast<size_t>(host)].Take(static_cast<int32_t>(rank), static_cast<double>(largest));
      }
      for (size_t host = 0; host < hosts(); ++host) {
        if (longest[host].rank >= 0) of_host[host].push_back(longest[host].seconds);
      }
    }
    for (std::vector<double>& known : of_host) usual_.push_back(MedianInPlace(&known));
  }

  // Negative = not known.
  double LongestOf(size_t rank, int32_t step) const {
    const StepRange& range = analysis_.steps.Of(rank, step);
    if (analysis_.without_begins[rank] != 0 || range.empty() || !range.complete) return -1;
    float longest = -1;
    for (uint32_t i = range.begin; i < range.end; ++i) longest = std::max(longest, analysis_.times.before[i].seconds);
    return static_cast<double>(longest);
  }

  void Look(int32_t step) {
    std::vector<Longest> longest(hosts());
    for (size_t rank = 0; rank < analysis_.trace->ranks.size(); ++rank) {
      const int32_t host = analysis_.trace->ranks[rank].host;
      if (host >= 0) longest[static_cast<size_t>(host)].Take(static_cast<int32_t>(rank), LongestOf(rank, step));
    }
    std::vector<std::pair<double, size_t>> pauses;  // rising, of hosts
    for (size_t host = 0; host < hosts(); ++host) {
      if (longest[host].rank >= 0) pauses.emplace_back(std::max(0.0, longest[host].seconds - usual_[host]), host);
    }
    if (pauses.size() < kMinHosts) return;
    std::sort(pauses.begin(), pauses.end());
    const double common = pauses[static_cast<size_t>(kQuicker * static_cast<double>(pauses.size()))].first;
    const double least = kMinorPart * analysis_.steps.usual_seconds;
    const bool all_pause = common >= least;
    const auto [most, latest] = pauses.back();
    Return found{.step = step, .later_seconds = most - pauses[pauses.size() - 2].first};
    const double late_by = all_pause ? kLateBy * common : least;
    if (found.later_seconds >= late_by) {
      found.latest = static_cast<int32_t>(latest);
      NoteLateRanks(pauses[pauses.size() - 2].first + late_by, all_pause ? kMainPart * common : 0, &found);
      // Where a few ranks pause for all, it is no pause of the job. A host all of which does, is late for its part.
      if (!all_pause && !found.all_late) return;
      found.all_late = found.all_late && all_pause;
    } else if (!all_pause) {
      return;
    }
    returns_.push_back(std::move(found));
  }

  // Of the latest host: who pauses for at least `pause_seconds`, and who for longer than `usual_seconds`.
  void NoteLateRanks(double usual_seconds, double pause_seconds, Return* found) const {
    size_t pausing = 0;
    for (size_t rank = 0; rank < analysis_.trace->ranks.size(); ++rank) {
      if (analysis_.trace->ranks[rank].host != found->latest) continue;
      const double longest = LongestOf(rank, found->step);
      const double seconds = longest - usual_[static_cast<size_t>(found->latest)];
      pausing += longest >= 0 && seconds >= pause_seconds ? 1 : 0;
      if (seconds >= usual_seconds) found->late_ranks.push_back(static_cast<int32_t>(rank));
    }
    // A record may be lost, and with it where the pause was.
    const auto late = static_cast<double>(found->late_ranks.size());
    found->all_late = pausing > 1 && late >= kNearlyAll * static_cast<double>(pausing);
  }

  // Of a rank that is late in most of them beside others of its host that are not, without pauses before that say that
  // it need not be: programs let such a one write what all share, or its whole replica.
  std::optional<DutyOfPlace> DutyOf(const std::vector<Return>& since) const {
    if (returns_.size() - since.size() >= kMinPast) return std::nullopt;
    for (const int32_t rank : since.front().late_ranks) {
      const std::optional<DutyOfPlace> duty = DutyOfEnds(*analysis_.trace, rank);
      if (duty.has_value() && IsMostly(rank, since)) return duty;
    }
    return std::nullopt;
  }

  static bool IsMostly(int32_t rank, const std::vector<Return>& since) {
    const auto by_it = std::count_if(since.begin(), since.end(), [rank](const Return& one) {
      return !one.all_late && std::count(one.late_ranks.begin(), one.late_ranks.end(), rank) > 0;
    });
    return static_cast<double>(by_it) >= kMainPart * static_cast<double>(since.size());
  }

  // Of the pauses since the first in which the host was late.
  bool StandsOut(int32_t host, const std::vector<Return>& since) const {
    const auto late = static_cast<size_t>(
        std::count_if(since.begin(), since.end(), [host](const Return& one) { return one.latest == host; }));
    if (late == 0 || static_cast<double>(late) < options_.min_persistence * static_cast<double>(since.size())) {
      return false;
    }
    const auto others = static_cast<double>(std::count_if(
        returns_.begin(), returns_.end(), [host](const Return& one) { return one.latest >= 0 && one.latest != host; }));
    const double places = static_cast<double>(analysis_.trace->hosts.size() - 1) * static_cast<double>(returns_.size());
    // Every host, from every pause on, could have been the one.
    const double trials = static_cast<double>(analysis_.trace->hosts.size() * returns_.size());
    return LogBinomialTail(late, since.size(), (others + 1) / (places + 1)) <
           std::log(options_.false_suspects_per_job / trials);
  }

  void AddVerdict(size_t host, const std::vector<Return>& since, std::vector<Verdict>* verdicts) const {
    const StepTable& steps = analysis_.steps;
    LateReturn reason{.host = analysis_.trace->hosts[host], .pauses = since.size()};
    double lost = 0, all = 0;
    std::vector<double> later;
    for (const Return& one : since) {
      if (one.latest != static_cast<int32_t>(host)) continue;
      ++reason.late;
      lost += one.later_seconds;
      later.push_back(one.later_seconds);
    }
    reason.first_step = since.front().step;
    reason.later_seconds = MedianInPlace(&later);
    const auto lasted = static_cast<double>(steps.steps - reason.first_step);
    for (int32_t step = reason.first_step; step < steps.steps; ++step) {
      all += steps.step_seconds[static_cast<size_t>(step)];
    }
    if (lost < options_.min_cost * all) return;
    Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kStorageStall);
    verdict.advice = Advice::kCordonAndReplace;
    verdict.culprits = {{.host = reason.host, .confidence = kLikelyConfidence}};
    verdict.first_step = reason.first_step;
    verdict.last_step = since.back().step;
    verdict.cost = {.slowdown_fraction = lost / all,
                    .seconds_per_step = lost / lasted,
                    .steps_affected_fraction = static_cast<double>(reason.late) / lasted};
    verdict.evidence.push_back({EvidenceKind::kLateness, std::move(reason)});
    if (const std::optional<DutyOfPlace> duty = DutyOf(since)) {
      BlameProgram(*duty, &verdict);
      verdict.culprits.clear();
    }
    verdicts->push_back(std::move(verdict));
  }

  const TraceAnalysis& analysis_;
  const PersistenceOptions& options_;
  std::vector<double> usual_;    // by host; 0 = not known
  std::vector<Return> returns_;  // from the pauses of the job, in order
};

}  // namespace

std::vector<Verdict> FindLateReturns(const TraceAnalysis& analysis, const PersistenceOptions& options) {
  return Search(analysis, options).Run();
}

}  // namespace lockstep
