#include "detector/steps/step_anchor.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/median.h"
#include "base/shares.h"

namespace lockstep {
namespace {

// A stretch between two anchors holds at least this share of the kinds of calls that the fullest typical stretch holds:
// a checkpoint's or an evaluation's own calls may be missing from an ordinary step.
constexpr double kMinKinds = kMajorPart;
// Of stretches that hold the same kinds: the majority.
constexpr double kMinTypicalShare = kMainPart;
// Of stretches that hold enough: half of those between calls that come twice per step do, and a few more where records
// are lost.
constexpr double kMinFullShare = 2.0 / 3;
// One is no repetition.
constexpr size_t kMinStretches = 2;
// Lost records make counts of once-per-step calls differ. By judgement, not measured.
constexpr double kEqualCounts = 0.05;
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
  int32_t kind = -1;
  size_t stretches = 0;
  size_t kinds_held = 0;     // by the typical stretch
  std::vector<size_t> held;  // by stretch
};

// Cuts the history at the calls of one kind.
Candidate Cut(absl::Span<const int32_t> calls, size_t kinds, int32_t anchor) {
  std::vector<size_t> seen_in(kinds, 0);                 // number of the stretch, from 1
  std::map<uint64_t, std::pair<size_t, size_t>> shapes;  // set of kinds -> stretches, kinds
  Candidate cut{.kind = anchor};
  size_t stretch = 0, held = 0;
  uint64_t shape = 0;
  for (const int32_t call : calls) {
    if (stretch > 0 && seen_in[static_cast<size_t>(call)] != stretch) {
      seen_in[static_cast<size_t>(call)] = stretch;
      shape ^= Scatter(static_cast<uint64_t>(call) + 1);
      ++held;
    }
    if (call != anchor) continue;
    if (stretch > 0) {
      auto& known = shapes[shape];
      ++known.first;
      known.second = held;
      cut.held.push_back(held);
    }
    ++stretch;
    shape = 0;
    held = 0;
  }
  cut.stretches = cut.held.size();
  size_t typical = 0;
  for (const auto& [set, count] : shapes) {
    if (count.first > typical || (count.first == typical && count.second > cut.kinds_held)) {
      typical = count.first;
      cut.kinds_held = count.second;
    }
  }
  if (static_cast<double>(typical) < kMinTypicalShare * static_cast<double>(cut.stretches)) cut.kinds_held = 0;
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

// The heaviest of the candidates with most stretches that hold nearly all kinds; nullptr = none.
const Candidate* BestOf(const std::vector<Candidate>& candidates, absl::Span<const CallKind> kinds) {
  size_t most_kinds = 0, most_stretches = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.stretches >= kMinStretches) most_kinds = std::max(most_kinds, candidate.kinds_held);
  }
  const auto is_full = [most_kinds](size_t held) {
    return held > 0 && static_cast<double>(held) >= kMinKinds * static_cast<double>(most_kinds);
  };
  const auto holds_enough = [is_full](const Candidate& candidate) {
    const auto full = std::count_if(candidate.held.begin(), candidate.held.end(), is_full);
    return is_full(candidate.kinds_held) &&
           static_cast<double>(full) >= kMinFullShare * static_cast<double>(candidate.stretches);
  };
  for (const Candidate& candidate : candidates) {
    if (holds_enough(candidate)) most_stretches = std::max(most_stretches, candidate.stretches);
  }
  const size_t slack = 1 + static_cast<size_t>(kEqualCounts * static_cast<double>(most_stretches));
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!holds_enough(candidate) || candidate.stretches + slack < most_stretches) continue;
    const int32_t weight = kinds[static_cast<size_t>(candidate.kind)].weight;
    if (best == nullptr || weight > kinds[static_cast<size_t>(best->kind)].weight) best = &candidate;
  }
  return best;
}

}  // namespace

int32_t FindAnchor(absl::Span<const int32_t> calls, absl::Span<const CallKind> kinds, bool agree) {
  calls = calls.subspan(0, std::min(calls.size(), kMaxAnchorCalls));
  std::vector<std::pair<size_t, int32_t>> counts(kinds.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind) counts[kind] = {0, static_cast<int32_t>(kind)};
  for (const int32_t call : calls) ++counts[static_cast<size_t>(call)].first;
  std::sort(counts.begin(), counts.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (counts.size() > kMaxAnchorCandidates) counts.resize(kMaxAnchorCandidates);
  std::vector<Candidate> candidates;
  for (const auto& [count, kind] : counts) {
    if (count <= kMinStretches || kinds[static_cast<size_t>(kind)].weight == 0) continue;
    candidates.push_back(Cut(calls, kinds.size(), kind));
    std::vector<size_t> held = candidates.back().held;
    if (!agree) candidates.back().kinds_held = LowerMedian(&held);
  }
  const Candidate* const best = BestOf(candidates, kinds);
  if (best == nullptr) return -1;
  // Two steps of several micro-batches: what comes once per step has come twice, too seldom for an anchor, and what
  // comes more often cuts them into micro-batches.
  for (const auto& [count, kind] : counts) {
    if (count != kMinStretches || kinds[static_cast<size_t>(kind)].weight == 0) continue;
    const double held = static_cast<double>(Cut(calls, kinds.size(), kind).held.front());
    if (kMinKinds * held > static_cast<double>(best->kinds_held) && RepeatsItself(calls, kind)) return -1;
  }
  return best->kind;
}

}  // namespace lockstep
