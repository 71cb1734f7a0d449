#include "detector/slow/even_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "detector/stats/even_places.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/expert_work.h"

namespace lockstep {
namespace {

// Budget of time; a median of three leaves one out.
constexpr size_t kReplayedSteps = 3;
constexpr uint32_t kNoNode = UINT32_MAX;

// One own interval: where in the step, whose share of the work, and how long.
struct Piece {
  int32_t rank_class;
  uint32_t kind;        // KindOf
  int32_t other_class;  // of the other side of a Send/Recv
  uint64_t place;       // after the first of the step in its channel
  int32_t share;        // ranks with equal numbers get the same work
  float seconds;        // negative = unknown
  uint32_t node;

  auto Place() const { return std::tie(rank_class, kind, other_class, place); }
};

// Sorted by place, then share.
std::vector<Piece> PiecesOf(const TraceAnalysis& analysis, const StepProfile& profile, const StepReplay& replay,
                            UnevenWork which) {
  const Trace& trace = *analysis.trace;
  const OperationInstances& matched = analysis.matched;
  std::vector<uint64_t> first(matched.channels.size(), UINT64_MAX);
  for (const uint32_t i : replay.operation_of_node()) {
    if (i == kNoOperation) continue;
    const OperationInstance& instance = matched.instances[matched.instance_of[i]];
    uint64_t& earliest = first[static_cast<size_t>(instance.channel)];
    earliest = std::min(earliest, instance.sequence);
  }
  std::vector<Piece> pieces;
  for (uint32_t node = 0; node < replay.operations(); ++node) {
    const uint32_t i = replay.operation_of_node()[node];
    if (i == kNoOperation) continue;
    const TraceOperation& operation = trace.operations[i];
    const OwnInterval& interval = analysis.times.before[i];
    if (which == UnevenWork::kUnroutedBatches && interval.routed) continue;
    const auto rank = static_cast<size_t>(matched.rank_of[i]);
    const OperationInstance& instance = matched.instances[matched.instance_of[i]];
    int32_t other = -1;
    if (IsSendOrRecv(operation.kind) && operation.peer >= 0) {
      const auto& members = trace.communicators[static_cast<size_t>(operation.communicator)].members;
      const int32_t peer = members[static_cast<size_t>(operation.peer)];
      other = peer < 0 ? -1 : analysis.roles.class_of_rank[static_cast<size_t>(peer)];
    }
    pieces.push_back({.rank_class = analysis.roles.class_of_rank[rank],
                      .kind = static_cast<uint32_t>(KindOf(analysis.roles, operation)),
                      .other_class = other,
                      .place = instance.sequence - first[static_cast<size_t>(instance.channel)],
                      .share = profile.places[rank].replica,
                      .seconds = interval.seconds,
                      .node = node});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    if (a.Place() != b.Place()) return a.Place() < b.Place();
    return a.share != b.share ? a.share < b.share : a.node < b.node;
  });
  return pieces;
}

using PieceRun = std::pair<const Piece*, const Piece*>;  // [first, last)

// Deals out what is done at one place.
void DealOutPlace(PieceRun run, DealtOut* dealt) {
  std::vector<std::pair<PieceRun, double>> shares;
  std::vector<double> middles, values;
  for (const Piece* begin = run.first; begin != run.second;) {
    const Piece* end = std::find_if(begin, run.second, [begin](const Piece& p) { return p.share != begin->share; });
    values.clear();
    for (const Piece* piece = begin; piece != end; ++piece) {
      if (piece->seconds >= 0) values.push_back(static_cast<double>(piece->seconds));
    }
    if (!values.empty()) {
      shares.push_back({{begin, end}, MedianInPlace(&values)});
      middles.push_back(shares.back().second);
    }
    begin = end;
  }
  if (shares.size() < 2) return;
  const auto usual = static_cast<float>(MedianInPlace(&middles));
  for (const auto& [of_share, middle] : shares) {
    for (const Piece* piece = of_share.first; piece != of_share.second; ++piece) {
      dealt->as_recorded[piece->node] = static_cast<float>(middle);
      dealt->evenly[piece->node] = usual;
    }
  }
}

// Routed work of one member of an expert group, before one of its AllToAlls.
struct RoutedPiece {
  uint32_t instance;  // OperationInstances::instances
  uint32_t node;
  double seconds;
  double pace;  // seconds of unrouted work of the rank in the step
};

// Of an operation that began not after that of `node`, on the same rank; kNoNode = it has none.
uint32_t NodeBefore(absl::Span<const uint32_t> operation_of_node, uint32_t node, uint32_t operation) {
  const auto end = operation_of_node.rend();
  const auto found = std::find(end - static_cast<std::ptrdiff_t>(node) - 1, end, operation);
  return found == end ? kNoNode : static_cast<uint32_t>(end - found - 1);
}

std::vector<RoutedPiece> RoutedPiecesOf(const TraceAnalysis& analysis, const StepProfile& profile,
                                        const StepReplay& replay) {
  std::vector<RoutedPiece> pieces;
  for (uint32_t node = 0; node < replay.operations(); ++node) {
    const uint32_t i = replay.operation_of_node()[node];
    if (i == kNoOperation) continue;
    if (analysis.trace->operations[i].kind != OperationKind::kAllToAll) continue;
    const uint32_t holder = HolderOfRoutedWork(*analysis.trace, analysis.times, i);
    if (holder == kNoOperation || analysis.times.before[holder].seconds < 0) continue;
    const uint32_t its_node = NodeBefore(replay.operation_of_node(), node, holder);
    if (its_node == kNoNode) continue;
    const auto rank = static_cast<size_t>(analysis.matched.rank_of[i]);
    const float pace = profile.unrouted_seconds[rank * profile.steps + static_cast<size_t>(replay.step())];
    if (!(pace > 0)) continue;
    pieces.push_back({analysis.matched.instance_of[i], its_node,
                      static_cast<double>(analysis.times.before[holder].seconds), static_cast<double>(pace)});
  }
  std::sort(pieces.begin(), pieces.end(), [](const RoutedPiece& a, const RoutedPiece& b) {
    return a.instance != b.instance ? a.instance < b.instance : a.node < b.node;
  });
  return pieces;
}

void DealOutTokens(const TraceAnalysis& analysis, const StepProfile& profile, const StepReplay& replay,
                   std::vector<float>* own_of_node) {
  if (profile.unrouted_seconds.empty()) return;
  const std::vector<RoutedPiece> pieces = RoutedPiecesOf(analysis, profile, replay);
  for (auto begin = pieces.begin(); begin != pieces.end();) {
    const auto end =
        std::find_if(begin, pieces.end(), [begin](const RoutedPiece& p) { return p.instance != begin->instance; });
    double seconds = 0, pace = 0;
    for (auto piece = begin; piece != end; ++piece) {
      seconds += piece->seconds;
      pace += piece->pace;
    }
    for (auto piece = begin; piece != end; ++piece) {
      (*own_of_node)[piece->node] = static_cast<float>(seconds * piece->pace / pace);
    }
    begin = end;
  }
}

// Usual steps: a quick one, the middle one, a long one.
std::vector<int32_t> StepsToReplay(const StepTable& steps) {
  std::vector<std::pair<double, int32_t>> lengths;
  for (int32_t step = 0; step < steps.steps; ++step) {
    if (steps.usual[static_cast<size_t>(step)] == 0 || steps.step_seconds[static_cast<size_t>(step)] <= 0) continue;
    lengths.emplace_back(steps.step_seconds[static_cast<size_t>(step)], step);
  }
  std::sort(lengths.begin(), lengths.end());
  std::vector<int32_t> chosen;
  for (const size_t place : EvenPlaces(lengths.size(), kReplayedSteps)) chosen.push_back(lengths[place].second);
  return chosen;
}

}  // namespace

DealtOut DealOut(const TraceAnalysis& analysis, const StepProfile& profile, const StepReplay& replay,
                 UnevenWork which) {
  DealtOut dealt;
  dealt.as_recorded.assign(replay.recorded_own().begin(), replay.recorded_own().end());
  dealt.evenly = dealt.as_recorded;
  if (which == UnevenWork::kExperts) {
    DealOutTokens(analysis, profile, replay, &dealt.evenly);
    return dealt;
  }
  const std::vector<Piece> pieces = PiecesOf(analysis, profile, replay, which);
  const Piece* const last = pieces.data() + pieces.size();
  for (const Piece* begin = pieces.data(); begin != last;) {
    const Piece* end = std::find_if(begin, last, [begin](const Piece& p) { return p.Place() != begin->Place(); });
    DealOutPlace({begin, end}, &dealt);
    begin = end;
  }
  return dealt;
}

double GainOfEven(const TraceAnalysis& analysis, const StepProfile& profile, UnevenWork which) {
  double recorded = 0, saved = 0;
  for (const int32_t step : StepsToReplay(analysis.steps)) {
    StepReplay replay(analysis, step);
    DealtOut dealt = DealOut(analysis, profile, replay, which);
    const double length = replay.Run({});
    const double before = replay.Run({.own_of_node = std::move(dealt.as_recorded)});
    const double after = replay.Run({.own_of_node = std::move(dealt.evenly)});
    if (length <= 0 || before <= 0 || after <= 0) continue;
    recorded += length;
    saved += before - after;
  }
  return recorded > 0 ? std::max(0.0, saved / recorded) : -1;
}

}  // namespace lockstep
