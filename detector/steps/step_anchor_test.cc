// The anchor of steps: by hand, and against a slow version that follows the definition, on random histories.

#include "detector/steps/step_anchor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "detector/model/trace.h"
#include "detector/steps/anchor_period.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Of calls whose times are not known; all kinds connect all peers.
StepAnchor AnchorOf(const std::vector<int32_t>& calls, const std::vector<CallKind>& kinds, bool agree = true) {
  const std::vector<int64_t> unknown(calls.size(), kNoTime);
  return FindAnchor({calls, unknown, unknown, kinds, [](const std::vector<int32_t>&) { return size_t{1}; }}, agree);
}

std::vector<int32_t> Repeat(const std::vector<int32_t>& step, int times) {
  std::vector<int32_t> calls;
  for (int i = 0; i < times; ++i) calls.insert(calls.end(), step.begin(), step.end());
  return calls;
}

TEST(StepAnchorTest, IsTheCallThatRecursOncePerStepWhateverTheBatchCount) {
  std::vector<int32_t> calls;
  for (const int batches : {4, 6, 3, 5, 4}) {
    for (int i = 0; i < batches; ++i) calls.insert(calls.end(), {0, 1});
    calls.insert(calls.end(), {2, 3});
  }
  EXPECT_EQ(AnchorOf(calls, {{0}, {0}, {4}, {8}}).kind, 3) << "the one of the larger group";
  EXPECT_EQ(AnchorOf({0, 1, 2}, {{2}, {2}, {2}}).kind, -1);
}

TEST(StepAnchorTest, IsNoCallThatComesTwicePerStepThoughOneIsLost) {
  std::vector<int32_t> calls;
  for (int step = 0; step < 12; ++step) {
    for (int i = 0; i < 4; ++i) calls.insert(calls.end(), {0, 1});
    calls.push_back(4);
    if (step != 5) calls.push_back(2);  // lost: as many long stretches between these as short ones
    calls.insert(calls.end(), {0, 2, 3});
  }
  EXPECT_EQ(AnchorOf(calls, {{2}, {2}, {8}, {4}, {2}}).kind, 3);
}

// Two steps of four micro-batches are no eight steps of which two have more calls.
TEST(StepAnchorTest, OfTwoStepsOfMicrobatchesNothingIsSaid) {
  const std::vector<int32_t> step = {0, 1, 1, 1, 1, 2};
  const std::vector<CallKind> kinds = {{8, true}, {8, true}, {8, true}};
  EXPECT_EQ(AnchorOf(Repeat(step, 2), kinds).kind, -1);
  EXPECT_EQ(AnchorOf(Repeat(step, 3), kinds).kind, 0) << "the third step tells";
  // Eight steps of one call, with a checkpoint behind each third.
  EXPECT_EQ(AnchorOf({1, 1, 1, 0, 2, 1, 1, 1, 0, 2, 1, 1}, kinds).kind, 1);
}

// Gathers and reductions of shards in each of two micro-batches, those of replicas in the second, a norm behind it.
TEST(StepAnchorTest, WhatIsReducedInEverySecondStretchOnlyEndsAStep) {
  std::vector<int32_t> step;
  for (const bool last : {false, true}) {
    step.insert(step.end(), 14, 1);
    for (int layer = 0; layer < 6; ++layer) {
      step.insert(step.end(), {0, 1});
      if (last) step.push_back(2);
    }
    step.push_back(0);
  }
  step.insert(step.end(), {2, 3});
  const std::vector<int32_t> calls = Repeat(step, 20);
  std::vector<CallKind> kinds = {{4, true}, {4, true}, {32, true}, {128, true, /*slight=*/true}};
  EXPECT_EQ(AnchorOf(calls, kinds).kind, 0) << "nobody knows what the third is for";
  kinds[2].reduces = true;
  kinds[2].family = 2;
  EXPECT_EQ(AnchorOf(calls, kinds).kind, 3);
  kinds[1].family = 2;
  EXPECT_EQ(AnchorOf(calls, kinds).kind, 0)
      << "the same groups have calls in the other as well: an evaluation has more";
}

// Parts of sequences are exchanged forwards and backwards, in each of two micro-batches; sums over replicas come in the
// second. A cut in the middle of the micro-batches has sums in each stretch, and is as fine as one that has not.
TEST(StepAnchorTest, ACutAsFineAsMicrobatchesIsOneOfThem) {
  std::vector<int32_t> step;
  for (const bool last : {false, true}) {
    for (int layer = 0; layer < 4; ++layer) step.insert(step.end(), {3, 0});
    for (int layer = 0; layer < 4; ++layer) {
      step.insert(step.end(), {1, 2});
      if (last) step.push_back(4);
    }
  }
  step.push_back(5);
  std::vector<CallKind> kinds(4, {8, true, false, false, /*family=*/0});
  kinds.push_back({64, true, false, /*reduces=*/true, /*family=*/1});
  kinds.push_back({64, true, /*slight=*/true, /*reduces=*/true, /*family=*/2});
  const StepAnchor anchor = AnchorOf(Repeat(step, 20), kinds);
  EXPECT_EQ(anchor.kind, 5);
  EXPECT_EQ(anchor.per_step, 1u);
}

// An evaluation behind every twelfth step makes calls of two sizes that no step makes.
TEST(StepAnchorTest, AStepNeedNotHoldTheKindsOfEvaluations) {
  std::vector<int32_t> calls;
  for (int step = 0; step < 60; ++step) {
    calls.insert(calls.end(), {0, 1, 0, 1, 0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 5});
    if (step % 12 != 11) continue;
    for (int batch = 0; batch < 12; ++batch) calls.insert(calls.end(), {6, 7});
    calls.push_back(8);
  }
  std::vector<CallKind> kinds(4, {4, true, false, false, /*family=*/0});
  kinds.push_back({16, true, false, /*reduces=*/true, /*family=*/1});
  kinds.push_back({16, true, /*slight=*/true, false, /*family=*/2});
  kinds.insert(kinds.end(), 2, {4, true, false, false, /*family=*/0});
  kinds.push_back({16, true, /*slight=*/true, false, /*family=*/2});
  EXPECT_EQ(AnchorOf(calls, kinds).kind, 5);
}

// Ranks that agree on a loss every fifth step do not make steps five times as long.
TEST(StepAnchorTest, ACallThatMovesNextToNothingMakesNoStepLonger) {
  std::vector<int32_t> calls;
  for (int step = 0; step < 20; ++step) {
    calls.insert(calls.end(), {0, 0, 0, 0, 1, 1, 1, 1});  // gathers forwards, reductions backwards
    if (step % 5 == 4) calls.push_back(2);
  }
  const StepAnchor anchor = AnchorOf(calls, {{8, true}, {8, true}, {8, true, /*slight=*/true}});
  EXPECT_NE(anchor.kind, 2);
  EXPECT_EQ(anchor.per_step, 4u);
  EXPECT_EQ(AnchorOf(calls, {{8, true}, {8, true}, {8, true}}).kind, 2) << "one that moves much may be the end of it";
}

// Micro-batches reduce inside of replicas, the step's end between them.
TEST(StepAnchorTest, AStepConnectsAllPeers) {
  const std::vector<int32_t> calls = Repeat({0, 1, 3, 4, 0, 1, 3, 4, 0, 1, 3, 4, 2}, 10);
  const std::vector<CallKind> kinds = {{2, true}, {2, true}, {4, true}, {2, true}, {2, true}};
  const std::vector<int64_t> unknown(calls.size(), kNoTime);
  const auto parts = [](const std::vector<int32_t>& some) -> size_t {
    return std::find(some.begin(), some.end(), 2) != some.end() ? 1 : 2;
  };
  EXPECT_EQ(FindAnchor({calls, unknown, unknown, kinds, parts}).kind, 2);
  EXPECT_NE(AnchorOf(calls, kinds).kind, 2) << "what a micro-batch holds is nearly all";
}

// What connects peers need not move much: a loss over all, every fifth step, ends no step where each has small calls
// between the peers.
TEST(StepAnchorTest, WhatMovesNextToNothingConnectsPeersAllTheSame) {
  std::vector<int32_t> calls;
  for (int step = 0; step < 20; ++step) {
    calls.insert(calls.end(), {0, 1, 0, 1, 2, 3, 5});
    if (step % 5 == 4) calls.push_back(4);
  }
  const std::vector<CallKind> kinds = {
      {4, true, /*slight=*/true}, {0, true}, {8, true}, {8, true}, {64, true}, {4, true}};
  const std::vector<int64_t> unknown(calls.size(), kNoTime);
  const auto parts = [](const std::vector<int32_t>& some) -> size_t {
    const auto holds = [&some](int32_t kind) { return std::find(some.begin(), some.end(), kind) != some.end(); };
    return holds(4) || (holds(0) && holds(2)) ? 1 : 4;
  };
  EXPECT_EQ(FindAnchor({calls, unknown, unknown, kinds, parts}, /*agree=*/false).kind, 2);
}

// Seven buckets: the time of the forward pass tells, or else a call beside them. They may well be of one size.
TEST(StepAnchorTest, WhereNothingButOneKindIsCalledTimeTells) {
  constexpr int64_t kSteps = 12, kBuckets = 7;
  const std::vector<int32_t> calls(kSteps * kBuckets, 0);
  const std::vector<CallKind> kinds = {{8}};
  std::vector<int64_t> at_ns;
  for (int64_t i = 0; i < kSteps * kBuckets; ++i) at_ns.push_back(i * 10 + i / kBuckets * 100);
  const std::vector<int64_t> unknown(calls.size(), kNoTime);
  const auto parts = [](const std::vector<int32_t>&) { return size_t{1}; };
  const StepAnchor by_launch = FindAnchor({calls, at_ns, unknown, kinds, parts});
  EXPECT_EQ(by_launch.per_step, 7u);
  EXPECT_EQ(by_launch.measure, StretchMeasure::kLaunches);
  const std::vector<CallKind> sized = {{8, /*sized=*/true}};
  EXPECT_EQ(FindAnchor({calls, at_ns, unknown, sized, parts}).per_step, 7u);
  const StepAnchor by_begin = FindAnchor({calls, unknown, at_ns, kinds, parts});
  EXPECT_EQ(by_begin.per_step, 7u);
  EXPECT_EQ(by_begin.measure, StretchMeasure::kBegins);

  // Two buckets of one size, if the host had handed over the first of them long before; else a checkpoint.
  const std::vector<int32_t> pairs(24, 0);
  std::vector<int64_t> launched_ns, begun_ns;
  for (int64_t i = 0; i < 24; ++i) {
    begun_ns.push_back(1000 + i / 2 * 100 + i % 2 * 10);
    launched_ns.push_back(begun_ns.back() - 60);
  }
  EXPECT_EQ(FindAnchor({pairs, launched_ns, begun_ns, sized, parts}).per_step, 2u);
  for (int64_t& at : launched_ns) at += 45;
  EXPECT_EQ(FindAnchor({pairs, launched_ns, begun_ns, sized, parts}).per_step, 1u);

  const StepAnchor beside = AnchorOf(Repeat({0, 0, 0, 0, 0, 0, 0, 1}, 12), {{8}, {8, false, /*slight=*/true}});
  EXPECT_EQ(beside.kind, 1);
  EXPECT_EQ(AnchorOf(calls, kinds).per_step, 1u) << "nothing tells";
}

// The definition, call by call -------------------------------------------------------------------------------------

using Stretches = std::vector<std::set<int32_t>>;

class Reference {
 public:
  Reference(const std::vector<int32_t>& calls, const std::vector<CallKind>& kinds, int32_t joiner, bool agree)
      : calls_(calls), kinds_(kinds), joiner_(joiner), agree_(agree) {}

  // The kind; -1 = none.
  int32_t Find() const {
    std::vector<int32_t> candidates;
    size_t most_kinds = 0, fewest_parts = 2, sure_steps = 0, parts = SIZE_MAX;
    for (int32_t kind = 0; kind < static_cast<int32_t>(kinds_.size()); ++kind) {
      if (CountOf(kind) <= 2 || Weight(kind) == 0) continue;
      candidates.push_back(kind);
      if (CutsSteps(kind)) parts = std::min(parts, StretchesAt(EndsOf(kind)).size());
    }
    const auto are_parts = [&](int32_t kind) {
      return static_cast<double>(StretchesAt(EndsOf(kind)).size()) >= 0.9 * static_cast<double>(parts);
    };
    for (const int32_t kind : candidates) {
      const CallKind& call = kinds_[static_cast<size_t>(kind)];
      if (!call.reduces || call.slight || PerStep(kind) == 1 || are_parts(kind)) continue;
      sure_steps = std::max(sure_steps, StretchesAt(EndsOf(kind)).size());
    }
    for (const int32_t kind : candidates) {
      if (StretchesAt(EndsOf(kind)).size() < std::max<size_t>(2, sure_steps / 10)) continue;
      most_kinds = std::max(most_kinds, KindsHeld(kind));
      fewest_parts = std::min(fewest_parts, Parts(kind));
    }
    std::erase_if(candidates, [&](int32_t kind) {
      const Stretches stretches = StretchesAt(EndsOf(kind));
      const auto full = std::count_if(stretches.begin(), stretches.end(), [&](const std::set<int32_t>& stretch) {
        return !stretch.empty() && 5 * stretch.size() >= 4 * most_kinds;
      });
      return stretches.size() < 2 || KindsHeld(kind) == 0 || 5 * KindsHeld(kind) < 4 * most_kinds ||
             3 * static_cast<size_t>(full) < 2 * stretches.size() || Parts(kind) > fewest_parts;
    });
    if (!std::all_of(candidates.begin(), candidates.end(), are_parts)) std::erase_if(candidates, are_parts);
    size_t most_stretches = 0;
    for (const int32_t kind : candidates) {
      most_stretches = std::max(most_stretches, StretchesAt(EndsOf(kind)).size());
    }
    // Of those that happen as often, but for one in ten, one that comes once per step; then the heaviest, the most
    // frequent, the first.
    int32_t best = -1;
    for (const int32_t kind : candidates) {
      if (StretchesAt(EndsOf(kind)).size() + 1 + most_stretches / 10 < most_stretches) continue;
      const auto worth = [&](int32_t k) { return std::tuple(PerStep(k) == 1, Weight(k), CountOf(k)); };
      if (best < 0 || worth(kind) > worth(best)) best = kind;
    }
    for (int32_t kind = 0; best >= 0 && kind < static_cast<int32_t>(kinds_.size()); ++kind) {
      if (CountOf(kind) != 2 || Weight(kind) == 0 || !MayBeTwoSteps(kind)) continue;
      if (4 * StretchesAt(PlacesOf(kind))[0].size() > 5 * KindsHeld(best)) return -1;
    }
    return best;
  }

 private:
  int32_t Weight(int32_t kind) const { return kinds_[static_cast<size_t>(kind)].weight; }
  ptrdiff_t CountOf(int32_t kind) const { return std::count(calls_.begin(), calls_.end(), kind); }

  std::vector<size_t> PlacesOf(int32_t kind) const {
    std::vector<size_t> places;
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i] == kind) places.push_back(i);
    }
    return places;
  }

  std::vector<int64_t> LengthsOf(int32_t kind) const {
    const std::vector<size_t> places = PlacesOf(kind);
    std::vector<int64_t> lengths;
    for (size_t i = 1; i < places.size(); ++i) lengths.push_back(static_cast<int64_t>(places[i] - places[i - 1]));
    return lengths;
  }

  uint32_t PerStep(int32_t kind) const { return AnchorsPerStep(LengthsOf(kind)); }

  // Of several per step, those with a long stretch behind them.
  std::vector<size_t> EndsOf(int32_t kind) const {
    const std::vector<size_t> places = PlacesOf(kind);
    if (PerStep(kind) == 1) return places;
    const std::vector<char> is_long = LongStretches(LengthsOf(kind));
    std::vector<size_t> ends;
    for (size_t i = 0; i < is_long.size(); ++i) {
      if (is_long[i] != 0) ends.push_back(places[i]);
    }
    return ends;
  }

  // The kinds between two ends, each with the second; slight ones where it is asked.
  Stretches StretchesAt(const std::vector<size_t>& ends, bool slight_ones = false) const {
    Stretches stretches;
    for (size_t i = 1; i < ends.size(); ++i) {
      std::set<int32_t>& held = stretches.emplace_back();
      for (size_t at = ends[i - 1] + 1; at <= ends[i]; ++at) {
        if (slight_ones || !kinds_[static_cast<size_t>(calls_[at])].slight) held.insert(calls_[at]);
      }
    }
    return stretches;
  }

  // By the set that most stretches hold, 0 = fewer than half of them agree; or the middle number.
  size_t KindsHeld(int32_t kind) const {
    const Stretches stretches = StretchesAt(EndsOf(kind));
    if (!agree_) {
      std::vector<size_t> sizes;
      for (const std::set<int32_t>& stretch : stretches) sizes.push_back(stretch.size());
      std::sort(sizes.begin(), sizes.end());
      return sizes.empty() ? 0 : sizes[(sizes.size() - 1) / 2];
    }
    ptrdiff_t most = 0;
    size_t held = 0;
    for (const std::set<int32_t>& stretch : stretches) {
      const ptrdiff_t equal = std::count(stretches.begin(), stretches.end(), stretch);
      if (equal > most || (equal == most && stretch.size() > held)) {
        most = equal;
        held = stretch.size();
      }
    }
    return 2 * static_cast<size_t>(most) < stretches.size() ? 0 : held;
  }

  // Whether groups that reduce much make calls in equally far stretches, nine times in ten, and hardly any in others.
  // What such groups call before all others is of the stretch before.
  bool CutsSteps(int32_t kind) const {
    const std::vector<size_t> ends = EndsOf(kind);
    for (const CallKind& reducing : kinds_) {
      if (!reducing.reduces || reducing.slight) continue;
      std::vector<size_t> counts;
      for (size_t i = 1; i < ends.size(); ++i) {
        counts.push_back(0);
        bool is_end = true;
        for (size_t at = ends[i - 1] + 1; at <= ends[i]; ++at) {
          const CallKind& call = kinds_[static_cast<size_t>(calls_[at])];
          const bool of_others = call.family != kinds_[static_cast<size_t>(kind)].family &&
                                 std::any_of(kinds_.begin(), kinds_.end(), [&](const CallKind& other) {
                                   return other.reduces && !other.slight && other.family == call.family;
                                 });
          is_end = is_end && (call.slight || of_others);
          if (call.slight || call.family != reducing.family || (is_end && i == 1)) continue;
          ++(is_end ? counts[i - 2] : counts[i - 1]);
        }
      }
      const size_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
      std::vector<size_t> with;
      size_t others = 0, others_with_calls = 0;
      for (size_t i = 0; most > 0 && i < counts.size(); ++i) {
        if (2 * counts[i] >= most) {
          with.push_back(i);
        } else {
          ++others;
          others_with_calls += counts[i] > 0 ? 1 : 0;
        }
      }
      if (10 * others_with_calls > others) continue;
      for (size_t apart = 2; with.size() > 2 && apart < counts.size(); ++apart) {
        size_t as_far = 0;
        for (size_t i = 1; i < with.size(); ++i) as_far += with[i] - with[i - 1] == apart ? 1 : 0;
        if (10 * as_far >= 9 * (with.size() - 1)) return true;
      }
    }
    return false;
  }

  size_t Parts(int32_t kind) const {
    const Stretches stretches = StretchesAt(EndsOf(kind), /*slight_ones=*/true);
    const auto with = std::count_if(stretches.begin(), stretches.end(),
                                    [this](const std::set<int32_t>& stretch) { return stretch.contains(joiner_); });
    return 2 * static_cast<size_t>(with) > stretches.size() ? 1 : 2;
  }

  // The first call is of this kind, and nine of ten are made again as many calls later as the second of it, at most 64.
  bool MayBeTwoSteps(int32_t kind) const {
    const std::vector<size_t> at = PlacesOf(kind);
    const size_t period = at[1] - at[0];
    size_t alike = 0;
    for (size_t i = 0; i + period < calls_.size(); ++i) alike += calls_[i] == calls_[i + period] ? 1 : 0;
    return at[0] == 0 && period <= 64 && 10 * alike >= 9 * (calls_.size() - period);
  }

  const std::vector<int32_t>& calls_;
  const std::vector<CallKind>& kinds_;
  const int32_t joiner_;  // what holds it connects all peers
  const bool agree_;
};

TEST(StepAnchorTest, AgreesWithTheDefinitionOnRandomHistories) {
  int found = 0, of_several = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    std::vector<CallKind> kinds(2 + random.Below(7));
    for (CallKind& kind : kinds) {
      kind = {static_cast<int32_t>(random.Below(4)), /*sized=*/true, /*slight=*/random.Below(5) == 0,
              /*reduces=*/random.Below(4) == 0, /*family=*/static_cast<int32_t>(random.Below(6))};
    }
    const auto any = [&] { return static_cast<int32_t>(random.Below(kinds.size())); };
    std::vector<int32_t> batch, once, calls;
    for (uint64_t i = 1 + random.Below(3); i > 0; --i) batch.push_back(any());
    for (uint64_t i = 1 + random.Below(3); i > 0; --i) once.push_back(any());
    const uint64_t lost = random.Below(2) == 0 ? 0 : 10 + random.Below(100);
    for (uint64_t step = random.Below(30); step > 0; --step) {
      for (uint64_t i = 1 + random.Below(4); i > 0; --i) calls.insert(calls.end(), batch.begin(), batch.end());
      calls.insert(calls.end(), once.begin(), once.end());
      if (random.Below(8) == 0) calls.push_back(any());
    }
    if (lost > 0) std::erase_if(calls, [&](int32_t) { return random.Below(lost) == 0; });
    const int32_t joiner = random.Below(2) == 0 ? -1 : any();
    const auto parts = [&](const std::vector<int32_t>& some) -> size_t {
      return std::find(some.begin(), some.end(), joiner) != some.end() ? 1 : 2;
    };
    const std::vector<int64_t> unknown(calls.size(), kNoTime);
    for (const bool agree : {true, false}) {
      const StepAnchor anchor = FindAnchor({calls, unknown, unknown, kinds, parts}, agree);
      ASSERT_EQ(anchor.kind, Reference(calls, kinds, joiner, agree).Find()) << "seed " << seed;
      found += anchor.kind >= 0 ? 1 : 0;
      of_several += anchor.per_step > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(of_several, 10);
}

}  // namespace
}  // namespace lockstep
