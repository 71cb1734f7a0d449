#include "detector/steps/step_anchor.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/median.h"
#include "base/shares.h"
#include "detector/model/trace.h"
#include "detector/steps/anchor_period.h"
#include "detector/steps/reduction_counts.h"

namespace lockstep {
namespace {

// A stretch between two anchors holds at least this share of the kinds of calls that the fullest typical stretch holds:
// a checkpoint's or an evaluation's own calls may be missing from an ordinary step.
constexpr double kMinKinds = kNearlyAll;
// Of stretches that hold the same kinds: the majority.
constexpr double kMinTypicalShare = kMainPart;
// Of stretches that hold enough: half of those between calls that come twice per step do, and a few more where records
// are lost.
constexpr double kMinFullShare = 2.0 / 3;
// One is no repetition.
constexpr size_t kMinStretches = 2;
// Lost records make counts of once-per-step calls differ.
constexpr double kEqualCounts = kFew;
// A pause of a quarter of the time between checkpoints behind every fourth step is dearer than anybody pays.
constexpr uint32_t kMinEqualBuckets = 4;
// Checkpoints are further apart than this many calls, of histories that make hardly any other.
constexpr size_t kMaxDoubtfulPeriod = 64;
// Of calls that are the same one period later, where records are lost:
constexpr double kMinAlike = kAllButFew;

uint64_t Scatter(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

struct Candidate {
  StepAnchor anchor;
  size_t stretches = 0;
  size_t kinds_held = 0;     // by the typical stretch
  std::vector<size_t> held;  // by stretch
  size_t parts = 0;          // of the peers, that the kinds connect which most stretches hold
  bool doubtful = false;     // hardly anything but such calls, and nothing tells how many make a step
  bool of_parts = false;     // its stretches are parts of steps
};

// Cuts the history behind the calls at `ends`.
Candidate Cut(const CallHistory& history, const std::vector<size_t>& ends) {
  std::vector<size_t> seen_in(history.kinds.size(), 0);  // number of the stretch, from 1
  std::vector<size_t> holding(history.kinds.size(), 0);  // stretches
  std::map<uint64_t, std::pair<size_t, size_t>> shapes;  // set of kinds -> stretches, kinds
  const int32_t family = ends.empty() ? -1 : history.kinds[static_cast<size_t>(history.calls[ends.front()])].family;
  ReductionCounts reductions(history.kinds, family, ends.empty() ? 0 : ends.size() - 1);
  Candidate cut;
  for (size_t stretch = 1; stretch < ends.size(); ++stretch) {
    uint64_t shape = 0;
    size_t held = 0;
    for (size_t i = ends[stretch - 1] + 1; i <= ends[stretch]; ++i) {
      const auto kind = static_cast<size_t>(history.calls[i]);
      reductions.Note(kind, stretch - 1);
      if (seen_in[kind] == stretch) continue;
      seen_in[kind] = stretch;
      ++holding[kind];
      if (history.kinds[kind].slight) continue;  // it connects all the same
      shape ^= Scatter(kind + 1);
      ++held;
    }
    auto& known = shapes[shape];
    ++known.first;
    known.second = held;
    cut.held.push_back(held);
  }
  cut.stretches = cut.held.size();
  cut.of_parts = reductions.TellParts();
  size_t typical = 0;
  for (const auto& [set, count] : shapes) {
    if (count.first > typical || (count.first == typical && count.second > cut.kinds_held)) {
      typical = count.first;
      cut.kinds_held = count.second;
    }
  }
  if (static_cast<double>(typical) < kMinTypicalShare * static_cast<double>(cut.stretches)) cut.kinds_held = 0;
  std::vector<int32_t> common;
  for (size_t kind = 0; kind < holding.size(); ++kind) {
    const bool held_by_most = static_cast<double>(holding[kind]) > kMainPart * static_cast<double>(cut.stretches);
    if (held_by_most) common.push_back(static_cast<int32_t>(kind));
  }
  cut.parts = history.parts(common);
  return cut;
}

std::vector<size_t> PlacesOf(absl::Span<const int32_t> calls, int32_t kind) {
  std::vector<size_t> places;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] == kind) places.push_back(i);
  }
  return places;
}

// Between each and the next one.
template <typename At>
std::vector<int64_t> Differences(const std::vector<size_t>& places, const At& at) {
  std::vector<int64_t> differences;
  for (size_t i = 1; i < places.size(); ++i) {
    const int64_t from = at(places[i - 1]), to = at(places[i]);
    differences.push_back(from == kNoTime || to == kNoTime ? 0 : to - from);
  }
  return differences;
}

// Of few calls of one known size each may be a step, and the long stretch a checkpoint. But not where the call behind
// it was handed over long before it began: then GPUs are at work for longer than such a step takes.
bool GpusWork(const CallHistory& history, const std::vector<size_t>& places, const std::vector<int64_t>& lengths) {
  const std::vector<char> is_long = LongStretches(lengths);
  std::vector<int64_t> at_work = lengths;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t launched_ns = history.launched_ns[places[i + 1]], begun_ns = history.begun_ns[places[i + 1]];
    const bool known = launched_ns != kNoTime && begun_ns != kNoTime;
    if (is_long[i] != 0) at_work[i] = known ? std::min(lengths[i], begun_ns - launched_ns) : 0;
  }
  const std::vector<char> still_long = LongStretches(at_work);
  const auto before = std::count(is_long.begin(), is_long.end(), 1);
  const auto after = std::count(still_long.begin(), still_long.end(), 1);
  return static_cast<double>(after) >= kMainPart * static_cast<double>(before);
}

// Of several calls of the kind per step, those behind which the next step begins, with its long stretch.
Candidate CutAt(const CallHistory& history, int32_t kind) {
  const std::vector<size_t> places = PlacesOf(history.calls, kind);
  const auto lengths_by = [&](StretchMeasure measure) {
    if (measure == StretchMeasure::kCalls) return Differences(places, [](size_t i) { return static_cast<int64_t>(i); });
    const auto& at_ns = measure == StretchMeasure::kLaunches ? history.launched_ns : history.begun_ns;
    return Differences(places, [&](size_t place) { return at_ns[place]; });
  };
  StepAnchor anchor{.kind = kind};
  std::vector<int64_t> lengths = lengths_by(anchor.measure);
  anchor.per_step = AnchorsPerStep(lengths);
  const bool is_sized = history.kinds[static_cast<size_t>(kind)].sized;
  const auto alone = std::count_if(lengths.begin(), lengths.end(), [](int64_t length) { return length == 1; });
  // Where it is hardly interrupted by others, time tells: buckets may well be of one size.
  const bool of_many = static_cast<double>(alone) >= kMajorPart * static_cast<double>(lengths.size());
  for (const StretchMeasure measure : {StretchMeasure::kLaunches, StretchMeasure::kBegins}) {
    if (anchor.per_step > 1 || !of_many) break;
    lengths = lengths_by(measure);
    anchor.per_step = AnchorsPerStep(lengths);
    anchor.measure = measure;
  }
  const bool few_by_time = anchor.measure != StretchMeasure::kCalls && is_sized && anchor.per_step < kMinEqualBuckets;
  if (few_by_time && !GpusWork(history, places, lengths)) anchor = {.kind = kind};
  std::vector<size_t> ends = places;
  if (anchor.per_step > 1) {
    ends.clear();
    const std::vector<char> is_long = LongStretches(lengths);
    for (size_t i = 0; i < is_long.size(); ++i) {
      if (is_long[i] != 0) ends.push_back(places[i]);
    }
  }
  Candidate cut = Cut(history, ends);
  cut.anchor = anchor;
  // Without sizes these may be any calls.
  cut.doubtful = of_many && anchor.per_step == 1 && !is_sized;
  return cut;
}

// Whether the history begins with one of two calls of this kind, and repeats itself from the other on: as two steps
// would. Before a checkpoint there are other calls.
bool RepeatsItself(absl::Span<const int32_t> calls, int32_t kind) {
  const auto period = static_cast<size_t>(std::find(calls.begin() + 1, calls.end(), kind) - calls.begin());
  if (calls.front() != kind || period > kMaxDoubtfulPeriod) return false;
  size_t alike = 0;
  for (size_t i = 0; i + period < calls.size(); ++i) alike += calls[i] == calls[i + period] ? 1 : 0;
  return static_cast<double>(alike) >= kMinAlike * static_cast<double>(calls.size() - period);
}

// What cuts as often as one that cuts steps into parts, or more often, does the same.
void MarkParts(std::vector<Candidate>* candidates) {
  size_t parts = SIZE_MAX;
  for (const Candidate& candidate : *candidates) {
    if (candidate.of_parts) parts = std::min(parts, candidate.stretches);
  }
  for (Candidate& candidate : *candidates) {
    const bool as_many = static_cast<double>(candidate.stretches) >= kAllButFew * static_cast<double>(parts);
    candidate.of_parts = candidate.of_parts || as_many;
  }
}

// Where gradients are reduced by several calls of a kind, which cut steps for certain, what comes in a tenth of these
// only is an evaluation's: a step need not hold its kinds.
size_t LeastStretches(const std::vector<Candidate>& candidates, const CallHistory& history) {
  size_t steps = 0;
  for (const Candidate& candidate : candidates) {
    const CallKind& kind = history.kinds[static_cast<size_t>(candidate.anchor.kind)];
    const bool reduces = kind.reduces && !kind.slight && candidate.anchor.per_step > 1;
    if (reduces && !candidate.of_parts) steps = std::max(steps, candidate.stretches);
  }
  return static_cast<size_t>(kFew * static_cast<double>(steps));
}

// Of the candidates with most stretches, that hold nearly all kinds and connect as many peers as those of any: one that
// comes once per step, then the heaviest; nullptr = none.
const Candidate* BestOf(const std::vector<Candidate>& candidates, const CallHistory& history) {
  size_t most_kinds = 0, most_stretches = 0, fewest_parts = SIZE_MAX;
  const size_t least_stretches = std::max(kMinStretches, LeastStretches(candidates, history));
  for (const Candidate& candidate : candidates) {
    if (candidate.stretches < least_stretches) continue;
    most_kinds = std::max(most_kinds, candidate.kinds_held);
    fewest_parts = std::min(fewest_parts, candidate.parts);
  }
  const auto is_full = [most_kinds](size_t held) {
    return held > 0 && static_cast<double>(held) >= kMinKinds * static_cast<double>(most_kinds);
  };
  const auto holds_enough = [&](const Candidate& candidate) {
    const auto full = std::count_if(candidate.held.begin(), candidate.held.end(), is_full);
    return candidate.stretches >= kMinStretches && is_full(candidate.kinds_held) &&
           static_cast<double>(full) >= kMinFullShare * static_cast<double>(candidate.stretches) &&
           candidate.parts <= fewest_parts;
  };
  const bool any_sure = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return !candidate.doubtful && holds_enough(candidate);
  });
  const bool any_whole = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return !candidate.of_parts && holds_enough(candidate);
  });
  const auto serves = [&](const Candidate& candidate) {
    return holds_enough(candidate) && !(any_sure && candidate.doubtful) && !(any_whole && candidate.of_parts);
  };
  for (const Candidate& candidate : candidates) {
    if (serves(candidate)) most_stretches = std::max(most_stretches, candidate.stretches);
  }
  const size_t slack = 1 + static_cast<size_t>(kEqualCounts * static_cast<double>(most_stretches));
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!serves(candidate) || candidate.stretches + slack < most_stretches) continue;
    // Where the same step makes several of one call, which of them is its end has to be found as well.
    const auto worth = [&](const Candidate& c) {
      return std::pair(c.anchor.per_step == 1, history.kinds[static_cast<size_t>(c.anchor.kind)].weight);
    };
    if (best == nullptr || worth(candidate) > worth(*best)) best = &candidate;
  }
  return best;
}

}  // namespace

StepAnchor FindAnchor(const CallHistory& whole, bool agree) {
  CallHistory history = whole;
  history.calls = history.calls.subspan(0, std::min(history.calls.size(), kMaxAnchorCalls));
  const absl::Span<const CallKind> kinds = history.kinds;
  std::vector<std::pair<size_t, int32_t>> counts(kinds.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind) counts[kind] = {0, static_cast<int32_t>(kind)};
  for (const int32_t call : history.calls) ++counts[static_cast<size_t>(call)].first;
  std::sort(counts.begin(), counts.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (counts.size() > kMaxAnchorCandidates) counts.resize(kMaxAnchorCandidates);
  std::vector<Candidate> candidates;
  for (const auto& [count, kind] : counts) {
    if (count <= kMinStretches || kinds[static_cast<size_t>(kind)].weight == 0) continue;
    candidates.push_back(CutAt(history, kind));
    std::vector<size_t> held = candidates.back().held;
    if (!agree && !held.empty()) candidates.back().kinds_held = LowerMedian(&held);
  }
  MarkParts(&candidates);
  const Candidate* const best = BestOf(candidates, history);
  if (best == nullptr) return {};
  // Two steps of several micro-batches: what comes once per step has come twice, too seldom for an anchor, and what
  // comes more often cuts them into micro-batches.
  for (const auto& [count, kind] : counts) {
    if (count != kMinStretches || kinds[static_cast<size_t>(kind)].weight == 0) continue;
    const auto held = static_cast<double>(Cut(history, PlacesOf(history.calls, kind)).held.front());
    if (kMinKinds * held > static_cast<double>(best->kinds_held) && RepeatsItself(history.calls, kind)) return {};
  }
  return best->anchor;
}

}  // namespace lockstep
