// Random walk and row/column/point: the two baselines on the matrix of waits.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eval/baselines/baseline.h"
#include "eval/baselines/wait_edges.h"

namespace lockstep {
namespace {

// Restart probability and rounds as usual for personalised PageRank; 0.85^40 leaves 0.2 % of the start.
constexpr double kRestart = 0.15;
constexpr int kRounds = 40;

constexpr double kRowOrColumn = 3;
constexpr double kPoint = 5;

}  // namespace

// The walk starts anywhere, goes along waits in proportion to their length, and stays where nobody is waited for. The
// source gives no formulas; these are the usual ones of its microservice ancestors.
Ranking RankByRandomWalk(const JoinedTrace& joined) {
  const size_t ranks = joined.trace().ranks.size();
  const std::vector<WaitEdge> edges = WaitEdges(joined);
  std::vector<double> total_wait(ranks, 0);
  for (const WaitEdge& edge : edges) total_wait[static_cast<size_t>(edge.waiting)] += edge.wait_ns;
  const double start = ranks == 0 ? 0 : 1.0 / static_cast<double>(ranks);
  std::vector<double> mass(ranks, start), next(ranks);
  for (int round = 0; round < kRounds; ++round) {
    std::fill(next.begin(), next.end(), kRestart * start);
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (total_wait[rank] <= 0) next[rank] += (1 - kRestart) * mass[rank];
    }
    for (const WaitEdge& edge : edges) {
      const auto from = static_cast<size_t>(edge.waiting);
      if (total_wait[from] <= 0) continue;
      next[static_cast<size_t>(edge.waited_for)] += (1 - kRestart) * mass[from] * edge.wait_ns / total_wait[from];
    }
    mass.swap(next);
  }
  return RankedByScore(mass, {});
}

// M[i][j] is what i waited for j. A column is somebody many wait for, a row somebody who waits for many, a point one
// pair. Zeros are left out of the mean of all points, as the source allows: the matrix of a large job is mostly empty.
Ranking RankByWaitMatrix(const JoinedTrace& joined) {
  const size_t ranks = joined.trace().ranks.size();
  const std::vector<WaitEdge> edges = WaitEdges(joined);
  std::vector<double> row(ranks, 0), column(ranks, 0);
  double total = 0;
  for (const WaitEdge& edge : edges) {
    row[static_cast<size_t>(edge.waiting)] += edge.wait_ns;
    column[static_cast<size_t>(edge.waited_for)] += edge.wait_ns;
    total += edge.wait_ns;
  }
  std::vector<double> scores(ranks, 0);
  std::vector<bool> accused(ranks, false), hot(ranks, false);
  const double mean = ranks == 0 ? 0 : total / static_cast<double>(ranks);
  for (size_t rank = 0; rank < ranks && mean > 0; ++rank) {
    scores[rank] = std::max(row[rank], column[rank]) / (mean * kRowOrColumn);
    hot[rank] = accused[rank] = scores[rank] > 1;
  }
  const double mean_point = edges.empty() ? 0 : total / static_cast<double>(edges.size());
  for (const WaitEdge& edge : edges) {
    const auto waiting = static_cast<size_t>(edge.waiting), waited_for = static_cast<size_t>(edge.waited_for);
    if (mean_point <= 0 || hot[waiting] || hot[waited_for]) continue;
    const double ratio = edge.wait_ns / (mean_point * kPoint);
    for (const size_t end : {waiting, waited_for}) {
      scores[end] = std::max(scores[end], ratio);
      accused[end] = accused[end] || ratio > 1;
    }
  }
  return RankedByScore(scores, accused);
}

}  // namespace lockstep
