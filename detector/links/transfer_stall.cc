#include "detector/links/transfer_stall.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/structure/robust.h"

namespace lockstep {
namespace {

constexpr double kLongStepDeviations = 6;
constexpr double kMinLongStep = 1.1;    // usual steps
constexpr double kMostOfTheWait = 0.5;  // of what the step took longer, in one transfer
constexpr double kUnlikeOthers = 0.25;  // of it, at most, in the middle one of the other steps

using HostGraph = std::map<int32_t, std::set<int32_t>>;

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
      const auto row = absl::MakeConstSpan(table_.longest_seconds).subspan(path * table_.steps, table_.steps);
      if (std::binary_search(explained_.begin(), explained_.end(), table_.paths[path].channel)) continue;
      if (!table_.paths[path].crosses_hosts || std::isnan(row[step])) continue;
      if (static_cast<double>(row[step]) < kMostOfTheWait * extra) continue;
      std::vector<double> others;
      for (size_t other = 0; other < row.size(); ++other) {
        if (other != step && !std::isnan(row[other])) others.push_back(static_cast<double>(row[other]));
      }
      if (!others.empty() && Median(std::move(others)) < kUnlikeOthers * extra) stalled.push_back(path);
    }
    return stalled;
  }

  void NameHosts(const std::vector<size_t>& stalled, TransferStall* stall) const {
    HostGraph graph;
    std::set<int32_t> all;
    for (const size_t path : stalled) {
      const std::vector<int32_t>& ranks = table_.paths[path].ranks;
      for (const int32_t rank : ranks) all.insert(HostOf(rank));
      if (!table_.paths[path].point_to_point) continue;
      graph[HostOf(ranks[0])].insert(HostOf(ranks[1]));
      graph[HostOf(ranks[1])].insert(HostOf(ranks[0]));
    }
    std::set<int32_t> named;
    stall->told_apart = !graph.empty();
    std::map<int32_t, bool> side;
    for (const auto& [host, neighbours] : graph) {
      if (side.contains(host)) continue;
      const auto [smaller, tells] = SmallerSide(graph, host, &side);
      named.insert(smaller.begin(), smaller.end());
      stall->told_apart &= tells;
    }
    if (graph.empty()) named = std::move(all);
    stall->hosts.assign(named.begin(), named.end());
  }

  // Of the connected part with `host` in it; all of it, and false, when it has no two sides or they are of one size.
  static std::pair<std::vector<int32_t>, bool> SmallerSide(const HostGraph& graph, int32_t host,
                                                           std::map<int32_t, bool>* side) {
    std::vector<int32_t> of_side[2], unvisited = {host};
    bool two_sides = true;
    side->emplace(host, false);
    while (!unvisited.empty()) {
      const int32_t at = unvisited.back();
      unvisited.pop_back();
      const bool here = side->at(at);
      of_side[here ? 1 : 0].push_back(at);
      for (const int32_t next : graph.at(at)) {
        const auto [found, fresh] = side->emplace(next, !here);
        if (fresh) unvisited.push_back(next);
        two_sides &= found->second != here;
      }
    }
    if (two_sides && of_side[0].size() != of_side[1].size()) {
      return {of_side[0].size() < of_side[1].size() ? of_side[0] : of_side[1], true};
    }
    of_side[0].insert(of_side[0].end(), of_side[1].begin(), of_side[1].end());
    return {of_side[0], false};
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
