#include "detector/collectives/step_search.h"

#include <algorithm>

namespace lockstep {
namespace {

// A path with more operations than this has a cycle.
constexpr int kMaxWalk = 100'000;

double OwnSeconds(const StepLink& link, bool healed) {
  return healed && link.peer_seconds >= 0 ? std::min(link.own_seconds, link.peer_seconds) : link.own_seconds;
}

// One replayed segment: who came last to each operation, and when it ended.
struct ReplayedSegment {
  std::vector<double> end_seconds;     // by node
  std::vector<int32_t> last;           // participant, by node
  std::vector<int32_t> last_position;  // in that participant's chain
};

void Replay(const StepSegment& segment, const std::vector<char>& healed, ReplayedSegment* replayed) {
  const size_t nodes = segment.nodes.size();
  replayed->end_seconds.assign(nodes, 0);
  replayed->last.assign(nodes, -1);
  replayed->last_position.assign(nodes, -1);
  for (size_t node = 0; node < nodes; ++node) {
    double latest = -1;
    for (const StepArrival& arrival : segment.nodes[node].arrivals) {
      const std::vector<StepLink>& chain = segment.chains[static_cast<size_t>(arrival.participant)];
      const StepLink& link = chain[static_cast<size_t>(arrival.position)];
      const double left =
          arrival.position == 0
              ? 0
              : replayed->end_seconds[static_cast<size_t>(chain[static_cast<size_t>(arrival.position - 1)].node)];
      const double arrived =
          left + OwnSeconds(link, healed[static_cast<size_t>(arrival.participant)] != 0) + link.opaque_seconds;
      if (arrived <= latest) continue;
      latest = arrived;
      replayed->last[node] = arrival.participant;
      replayed->last_position[node] = arrival.position;
    }
    replayed->end_seconds[node] = latest + segment.nodes[node].transfer_seconds;
  }
}

struct Excess {
  double seconds = 0;   // over all intervals on the path
  double largest = 0;   // of one interval
  int32_t segment = 0;  // of that interval
  int32_t node = 0;
};

// Walks the path of one segment backwards and adds up, per participant, what exceeds its peers.
void Walk(const StepSegment& segment, int32_t segment_index, const ReplayedSegment& replayed,
          const std::vector<char>& healed, double min_ratio, std::vector<Excess>* excess) {
  auto node = static_cast<int32_t>(segment.nodes.size()) - 1;
  for (int i = 0; node >= 0 && i < kMaxWalk; ++i) {
    const int32_t rank = replayed.last[static_cast<size_t>(node)];
    const int32_t position = replayed.last_position[static_cast<size_t>(node)];
    if (rank < 0) return;
    const std::vector<StepLink>& chain = segment.chains[static_cast<size_t>(rank)];
    const StepLink& link = chain[static_cast<size_t>(position)];
    if (healed[static_cast<size_t>(rank)] == 0 && link.peer_seconds >= 0 &&
        link.own_seconds >= min_ratio * link.peer_seconds) {
      Excess& sum = (*excess)[static_cast<size_t>(rank)];
      const double seconds = link.own_seconds - link.peer_seconds;
      sum.seconds += seconds;
      if (seconds > sum.largest) {
        sum.largest = seconds;
        sum.segment = segment_index;
        sum.node = node;
      }
    }
    node = position == 0 ? -1 : chain[static_cast<size_t>(position - 1)].node;
  }
}

}  // namespace

double ReplaySeconds(const TypicalStep& step, const std::vector<char>& healed) {
  double seconds = 0;
  ReplayedSegment replayed;
  for (const StepSegment& segment : step.segments) {
    Replay(segment, healed, &replayed);
    seconds += replayed.end_seconds.back();
  }
  return seconds;
}

StepSearch SearchStep(const TypicalStep& step, const StepSearchOptions& options) {
  StepSearch search;
  const size_t participants = step.rank_slots.size();
  std::vector<char> healed(participants, 0);
  search.step_seconds = ReplaySeconds(step, healed);
  search.healed_seconds = search.step_seconds;
  ReplayedSegment replayed;
  while (search.culprits.size() < static_cast<size_t>(options.max_culprits)) {
    std::vector<Excess> excess(participants);
    for (size_t i = 0; i < step.segments.size(); ++i) {
      Replay(step.segments[i], healed, &replayed);
      Walk(step.segments[i], static_cast<int32_t>(i), replayed, healed, options.min_own_time_ratio, &excess);
    }
    const auto worst = std::max_element(excess.begin(), excess.end(),
                                        [](const Excess& a, const Excess& b) { return a.seconds < b.seconds; });
    if (worst == excess.end() || worst->seconds < options.min_step_cost * search.step_seconds) break;
    const auto participant = static_cast<int32_t>(worst - excess.begin());
    healed[static_cast<size_t>(participant)] = 1;
    search.culprits.push_back({.participant = participant, .segment = worst->segment, .node = worst->node});
  }
  if (search.culprits.empty()) return search;
  search.healed_seconds = ReplaySeconds(step, healed);
  for (StepCulprit& culprit : search.culprits) {
    std::vector<char> only(participants, 0);
    only[static_cast<size_t>(culprit.participant)] = 1;
    culprit.saved_alone_seconds = search.step_seconds - ReplaySeconds(step, only);
    healed[static_cast<size_t>(culprit.participant)] = 0;
    culprit.saved_last_seconds = ReplaySeconds(step, healed) - search.healed_seconds;
    healed[static_cast<size_t>(culprit.participant)] = 1;
  }
  return search;
}

}  // namespace lockstep
