#include "detector/network/transfer_stall.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/network/path_vote.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

constexpr double kLongStepDeviations = kSureDeviations;
// Usual steps. By judgement, not measured.
constexpr double kMinLongStep = 1.1;
// Of what the step took longer, in transfers of one path: more than half, so that it is the main cause.
constexpr double kMostOfTheWait = kMainPart;
// Of it, at most, in the middle one of the other steps.
constexpr double kUnlikeOthers = kMinorPart;

class StallSearch {
 public:
  StallSearch(const TransferTable& table, const StepTable& steps, const std::vector<int32_t>& host_of,
              const std::vector<int32_t>& explained)
      : table_(table), steps_(steps), host_of_(host_of), explained_(explained) {}

  TransferStall Run(double min_cost) {
    TransferStall stall;
    std::set<size_t> stalled;
    double since = 0;
    const double longer = std::max(kMinLongStep * steps_.usual_seconds,
                                   steps_.usual_seconds + kLongStepDeviations * steps_.usual_spread_seconds);
    // In the first step a job connects and compiles.
    for (size_t step = 1; step < table_.steps && steps_.usual_seconds > 0; ++step) {
      const double length = steps_.step_seconds[step];
      const double extra = length - steps_.usual_seconds;
      if (stall.steps > 0) since += length;
      if (length < longer) continue;
      const std::vector<size_t> here = StalledPaths(step, extra);
      if (here.empty()) continue;
      if (stall.steps == 0) {
        stall.first_step = static_cast<int64_t>(step);
        since = length;
      }
      stalled.insert(here.begin(), here.end());
      stall.last_step = static_cast<int64_t>(step);
      stall.seconds += extra;
      ++stall.steps;
    }
    if (stall.steps == 0 || stall.seconds < min_cost * since) return {};
    stall.share = stall.seconds / since;
    stall.stalled_paths = stalled.size();
    stall.compared_paths = table_.paths.size();
    NameHosts({stalled.begin(), stalled.end()}, &stall);
    return stall;
  }

 private:
  int32_t HostOf(int32_t rank) const { return host_of_[static_cast<size_t>(rank)]; }

  std::vector<size_t> StalledPaths(size_t step, double extra) const {
    std::vector<size_t> stalled;
    for (size_t path = 0; path < table_.paths.size(); ++path) {
      const auto row = absl::MakeConstSpan(table_.longer_seconds).subspan(path * table_.steps, table_.steps);
      if (std::binary_search(explained_.begin(), explained_.end(), table_.paths[path].channel)) continue;
      if (!table_.paths[path].crosses_hosts || !table_.paths[path].sees_all || std::isnan(row[step])) continue;
      if (static_cast<double>(row[step]) < kMostOfTheWait * extra) continue;
      std::vector<double> others;
      for (size_t other = 0; other < row.size(); ++other) {
        if (other != step && !std::isnan(row[other])) others.push_back(static_cast<double>(row[other]));
      }
      if (!others.empty() && LowerMedianOrNan(std::move(others)) < kUnlikeOthers * extra) stalled.push_back(path);
    }
    return stalled;
  }

  // What all stalled paths have in common, among those that were measured in the steps that stood still. What stalls
  // for a moment hits what passes then: collectives that went well say nothing where only Send and Recv stalled, nor
  // the other way round, since a step has a time for each.
  void NameHosts(const std::vector<size_t>& stalled, TransferStall* stall) const {
    const auto stalls = [&](bool point_to_point) {
      return std::any_of(stalled.begin(), stalled.end(),
                         [&](size_t path) { return table_.paths[path].point_to_point == point_to_point; });
    };
    const bool of_sort[] = {stalls(false), stalls(true)};
    std::vector<VotePath> paths;
    for (size_t path = 0; path < table_.paths.size(); ++path) {
      const bool is_stalled = std::binary_search(stalled.begin(), stalled.end(), path);
      if (!table_.paths[path].crosses_hosts || (!is_stalled && !MeasuredIn(path, *stall))) continue;
      if (!of_sort[table_.paths[path].point_to_point ? 1 : 0]) continue;
      paths.push_back({.ranks = table_.paths[path].ranks,
                       .point_to_point = table_.paths[path].point_to_point,
                       .exchange = table_.paths[path].exchange,
                       .slow = is_stalled});
    }
    std::set<int32_t> named;
    stall->told_apart = true;
    const std::vector<PathCause> causes = VoteOnPaths(paths, host_of_);
    stall->kind = causes.size() == 1 ? causes.front().kind : PathCauseKind::kHosts;
    for (const PathCause& cause : causes) {
      named.insert(cause.hosts.begin(), cause.hosts.end());
      const bool between = cause.kind == PathCauseKind::kLink || cause.kind == PathCauseKind::kGroup ||
                           cause.kind == PathCauseKind::kHosts;
      stall->told_apart &= !between;
    }
    stall->hosts.assign(named.begin(), named.end());
    if (stall->kind == PathCauseKind::kLink) stall->hosts = causes.front().hosts;
  }

  bool MeasuredIn(size_t path, const TransferStall& stall) const {
    for (int64_t step = stall.first_step; step <= stall.last_step; ++step) {
      if (!std::isnan(table_.longer_seconds[path * table_.steps + static_cast<size_t>(step)])) return true;
    }
    return false;
  }

  const TransferTable& table_;
  const StepTable& steps_;
  const std::vector<int32_t>& host_of_;
  const std::vector<int32_t>& explained_;
};

}  // namespace

TransferStall FindTransferStall(const TransferTable& table, const StepTable& steps, const std::vector<int32_t>& host_of,
                                const std::vector<int32_t>& explained, double min_cost) {
  return StallSearch(table, steps, host_of, explained).Run(min_cost);
}

}  // namespace lockstep
