// Least communication time and last arriver: the two one-line rules.

#include <cstddef>
#include <vector>

#include "eval/baselines/baseline.h"
#include "eval/baselines/joined_trace.h"

namespace lockstep {
namespace {

constexpr double kLastArriverMargin = 10;

}  // namespace

Ranking RankByLeastCommunication(const JoinedTrace& joined) {
  const size_t ranks = joined.trace().ranks.size();
  std::vector<double> inside_ns(ranks, 0);
  for (size_t i = 0; i < joined.instances(); ++i) {
    for (const JoinedOperation& member : joined.Members(i)) {
      inside_ns[static_cast<size_t>(member.rank_index)] += static_cast<double>(member.duration_ns);
    }
  }
  for (double& score : inside_ns) score = -score;
  return RankedByScore(inside_ns, {});
}

// The margin of the source compares with "the rest": here the mean share over all ranks.
Ranking RankByLastArrivals(const JoinedTrace& joined) {
  const size_t ranks = joined.trace().ranks.size();
  std::vector<double> times_last(ranks, 0), joins(ranks, 0);
  for (size_t i = 0; i < joined.instances(); ++i) {
    for (const JoinedOperation& member : joined.Members(i)) joins[static_cast<size_t>(member.rank_index)] += 1;
    times_last[static_cast<size_t>(LastArriver(joined.Members(i)).rank_index)] += 1;
  }
  double total_share = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (joins[rank] > 0) times_last[rank] /= joins[rank];
    total_share += times_last[rank];
  }
  std::vector<bool> accused(ranks, false);
  for (size_t rank = 0; rank < ranks; ++rank) {
    accused[rank] = times_last[rank] > kLastArriverMargin * total_share / static_cast<double>(ranks);
  }
  return RankedByScore(times_last, accused);
}

}  // namespace lockstep
