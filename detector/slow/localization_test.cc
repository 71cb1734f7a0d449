#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/counterfactual_gain.h"
#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/slow/step_replay.h"
#include "detector/steps/own_time.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/trace_analysis.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMicro = 1'000;
constexpr double kTransfer = 0.0002, kMinCost = 0.03;

// Tensor pairs on one host, data groups over the hosts: per step four blocks of work, each before an AllReduce of the
// pair, then an AllReduce of the data group. Every host has its own clock.
struct Job {
  int32_t hosts = 6;
  int32_t steps = 10;
  int32_t slow_rank = -1;
  double slow_factor = 1;
  int32_t onset = 0;
  double noise = 0.01;
  uint64_t seed = 1;
  uint64_t lose_every = 0;  // records; 0 = none
  int32_t ranks_of_host = 2;
  int32_t slow_pair = -1;  // which tensor pair transfers slowly
  double transfer_factor = 1;
  int32_t transfer_onset = 0;
};

class Player {
 public:
  explicit Player(const Job& job) : job_(job), random_(job.seed), builder_("job") {}

  Trace Play() {
    const int32_t ranks = 2 * job_.hosts;
    std::vector<int64_t> now(static_cast<size_t>(ranks));
    for (int32_t rank = 0; rank < ranks; ++rank) {
      handles_.push_back(
          builder_.AddRank({.rank = rank, .host = builder_.AddHost(absl::StrCat("h", rank / job_.ranks_of_host))}));
      now[static_cast<size_t>(rank)] = 1'000'000;
    }
    for (int32_t step = 0; step < job_.steps; ++step) {
      for (int32_t block = 0; block < 4; ++block) {
        for (int32_t rank = 0; rank < ranks; ++rank) now[static_cast<size_t>(rank)] += Work(rank, step);
        for (int32_t host = 0; host < job_.hosts; ++host) {
          const bool slow = host == job_.slow_pair && step >= job_.transfer_onset;
          Meet(absl::StrCat("tp", host), {2 * host, 2 * host + 1}, static_cast<uint64_t>(4 * step + block), 1024,
               kTransfer * (slow ? job_.transfer_factor : 1), &now);
        }
      }
      for (int32_t place = 0; place < 2; ++place) {
        std::vector<int32_t> members;
        for (int32_t host = 0; host < job_.hosts; ++host) members.push_back(2 * host + place);
        Meet(absl::StrCat("dp", place), members, static_cast<uint64_t>(step), 4096, kTransfer, &now);
      }
    }
    return builder_.Build();
  }

 private:
  int64_t Work(int32_t rank, int32_t step) {
    double work = 10'000 * kMicro * (1 + job_.noise * random_.Gaussian());
    if (rank == job_.slow_rank && step >= job_.onset) work *= job_.slow_factor;
    return static_cast<int64_t>(work);
  }

  void Meet(const std::string& name, const std::vector<int32_t>& members, uint64_t sequence, uint64_t bytes,
            double transfer_seconds, std::vector<int64_t>* now) {
    const int32_t communicator = builder_.AddCommunicator(name, "", static_cast<int32_t>(members.size()));
    int64_t end = 0;
    for (const int32_t member : members) end = std::max(end, (*now)[static_cast<size_t>(member)]);
    end += static_cast<int64_t>(transfer_seconds * 1e9);
    for (size_t place = 0; place < members.size(); ++place) {
      const auto rank = static_cast<size_t>(members[place]);
      builder_.AddMember(communicator, static_cast<int32_t>(place), handles_[rank]);
      const int64_t clock = members[place] / 2 * int64_t{777'777'777};
      const int64_t start = (*now)[rank] + clock;
      const bool lost = job_.lose_every > 0 && random_.Below(job_.lose_every) == 0;
      if (!lost) {
        builder_.Add(handles_[rank], {.enqueue_ns = start,
                                      .start_ns = start,
                                      .end_ns = end + clock,
                                      .sequence = sequence,
                                      .bytes = bytes,
                                      .communicator = communicator,
                                      .kind = OperationKind::kAllReduce});
      }
      (*now)[rank] = end;
    }
  }

  Job job_;
  Random random_;
  TraceBuilder builder_;
  std::vector<int32_t> handles_;
};

std::vector<Suspect> SuspectsOf(const TraceAnalysis& analysis) {
  return FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, {});
}

TEST(StepFinderTest, FindsEveryStepAndItsLength) {
  const Trace trace = Player({}).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  EXPECT_EQ(analysis.steps.steps, 10);
  EXPECT_NEAR(analysis.steps.usual_seconds, 0.042, 0.003);
  EXPECT_EQ(analysis.roles.classes.size(), 1);
}

TEST(OwnTimeTest, IsTheWorkAndNotTheWaiting) {
  const Trace trace = Player({.slow_rank = 5, .slow_factor = 2, .noise = 0}).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const double own = static_cast<double>(analysis.profile.Row(analysis.profile.own, rank)[5]);
    EXPECT_NEAR(own, rank == 5 ? 0.08 : 0.04, 1e-6) << rank;
  }
}

// Two pairs of ranks. Per step a pair exchanges something, which takes 1 ms in the first pair and 16 ms in the second;
// then three times 10 ms of work, each before an AllReduce of the pair and a bucket of gradients, which all four reduce
// beside the work of what follows: in 4 ms, once all have issued it and the one before is done. At last all meet.
// With `sends_last` there are two such pieces of work only, and instead of the AllReduce before the second bucket a
// Broadcast of the pair goes with it.
class Buckets {
 public:
  explicit Buckets(bool sends_last) : sends_last_(sends_last) {}

  Trace Play() {
    for (int32_t r = 0; r < kRanks; ++r) {
      ranks_[r] = builder_.AddRank({.rank = r, .host = builder_.AddHost(absl::StrCat("h", r))});
    }
    double begin = 1;
    for (uint64_t step = 0; step < 12; ++step) begin = Step(step, begin);
    return builder_.Build();
  }

 private:
  static constexpr int kRanks = 4;
  static constexpr double kNow = 1e-5;

  double Step(uint64_t step, double begin) {
    double ready[2] = {begin + 0.001, begin + 0.016};
    for (const int pair : {0, 1}) Add(pair, "pair", OperationKind::kAllGather, step, begin, ready[pair]);
    double free = 0;  // when the last bucket was done
    const uint64_t buckets = sends_last_ ? 2 : 3;
    for (uint64_t bucket = 0; bucket < buckets; ++bucket) {
      const bool sends = sends_last_ && bucket == 1;
      for (const int pair : {0, 1}) {
        ready[pair] += 0.01 + kNow;
        if (sends) continue;
        Add(pair, "pair", OperationKind::kAllReduce, (sends_last_ ? 1 : 3) * step + bucket, ready[pair] - kNow,
            ready[pair]);
      }
      const double end = std::max(free, std::max(ready[0], ready[1])) + 0.004;
      for (const int pair : {0, 1}) {
        Add(pair, "data", OperationKind::kReduceScatter, buckets * step + bucket, std::max(free, ready[pair]), end);
        if (sends) Add(pair, "pair", OperationKind::kBroadcast, step, ready[pair], ready[pair] + kNow);
      }
      free = end;
    }
    for (const int pair : {0, 1}) Add(pair, "world", OperationKind::kAllReduce, step, free, free + 0.001);
    return free + 0.001;
  }

  void Add(int pair, const std::string& group, OperationKind kind, uint64_t sequence, double start, double end) {
    const bool of_pair = group == "pair";
    // Every kind of call of a pair counts by itself.
    const std::string name = of_pair ? absl::StrCat(group, pair, " ", static_cast<int>(kind)) : group;
    const int32_t communicator = builder_.AddCommunicator(name, "", of_pair ? 2 : kRanks);
    for (const int32_t r : {2 * pair, 2 * pair + 1}) {
      builder_.AddMember(communicator, of_pair ? r % 2 : r, ranks_[r]);
      const auto at = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
      builder_.Add(ranks_[r], {.enqueue_ns = at(start),
                               .start_ns = at(start),
                               .end_ns = at(end),
                               .sequence = sequence,
                               .bytes = 4096,
                               .communicator = communicator,
                               .kind = kind});
    }
  }

  const bool sends_last_;
  TraceBuilder builder_{"job"};
  int32_t ranks_[kRanks] = {};
};

TEST(OwnTimeTest, IsNotCutByWhatRunsBesideTheWorkOfWhoComesLate) {
  for (const bool sends_last : {false, true}) {
    const Trace trace = Buckets(sends_last).Play();
    const TraceAnalysis analysis = AnalyseTrace(trace, false);
    ASSERT_GE(analysis.steps.steps, 10);
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      EXPECT_NEAR(static_cast<double>(analysis.profile.Row(analysis.profile.own, rank)[5]), sends_last ? 0.02 : 0.03,
                  1e-4)
          << rank << (sends_last ? " sends last" : "");
    }
  }
}

TEST(PersistentExcessTest, NamesTheSlowRankOfATensorPairAndItsOnset) {
  const Trace trace = Player({.slow_rank = 5, .slow_factor = 1.2, .onset = 4}).Play();
  const std::vector<Suspect> suspects = SuspectsOf(AnalyseTrace(trace, false));
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects.front().rank, 5);
  EXPECT_EQ(suspects.front().first_step, 4);
  EXPECT_EQ(suspects.front().last_step, 9);
}

TEST(PersistentExcessTest, FindsNobodyInHealthyJobs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Trace trace = Player({.noise = 0.02, .seed = seed}).Play();
    EXPECT_TRUE(SuspectsOf(AnalyseTrace(trace, false)).empty()) << seed;
  }
}

TEST(PersistentExcessTest, LostRecordsAreNotOwnTime) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Trace healthy = Player({.seed = seed, .lose_every = 50}).Play();
    EXPECT_TRUE(SuspectsOf(AnalyseTrace(healthy, false)).empty()) << seed;
    const Trace slow = Player({.slow_rank = 3, .slow_factor = 1.3, .seed = seed, .lose_every = 50}).Play();
    const std::vector<Suspect> suspects = SuspectsOf(AnalyseTrace(slow, false));
    ASSERT_EQ(suspects.size(), 1) << seed;
    EXPECT_EQ(suspects.front().rank, 3) << seed;
  }
}

TEST(PersistentExcessTest, AFlippedSignOfLatenessMissesTheCulprit) {
  const Trace trace = Player({.slow_rank = 5, .slow_factor = 1.2}).Play();
  for (const Suspect& suspect : SuspectsOf(AnalyseTrace(trace, true))) EXPECT_NE(suspect.rank, 5);
}

// The replay, slowly: rounds over all operations until nothing changes any more.
double ReferenceReplay(const TraceAnalysis& analysis, int32_t step, int32_t removed_rank, double scale) {
  const Trace& trace = *analysis.trace;
  std::vector<double> arrival(trace.operations.size(), 0), end(trace.operations.size(), 0);
  double last = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      const StepRange& range = analysis.steps.Of(rank, step);
      for (uint32_t i = range.begin; i < range.end; ++i) {
        const OwnInterval& interval = analysis.times.before[i];
        const bool inside = interval.after >= range.begin && interval.after < range.end;
        const double ready = !inside ? 0 : interval.after_end ? end[interval.after] : arrival[interval.after];
        const double own = std::max(0.0, static_cast<double>(interval.seconds));
        const double at = ready + own * (static_cast<int32_t>(rank) == removed_rank ? scale : 1);
        changed |= at > arrival[i] + 1e-12;
        arrival[i] = std::max(arrival[i], at);
        double latest = 0, transfer = 1e9;
        for (const uint32_t member :
             analysis.matched.MembersOf(analysis.matched.instances[analysis.matched.instance_of[i]])) {
          latest = std::max(latest, arrival[member]);
          transfer = std::min(transfer, static_cast<double>(trace.operations[member].duration_ns()) * 1e-9);
        }
        end[i] = latest + transfer;
        last = std::max(last, end[i]);
      }
    }
  }
  return last;
}

TEST(StepReplayTest, AgreesWithTheSlowReference) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Trace trace = Player({.slow_rank = 5, .slow_factor = 1.5, .noise = 0.1, .seed = seed}).Play();
    const TraceAnalysis analysis = AnalyseTrace(trace, false);
    StepReplay replay(analysis, 6);
    EXPECT_NEAR(replay.Run({}), ReferenceReplay(analysis, 6, -1, 1), 1e-6);
    Counterfactual counterfactual;
    counterfactual.own.push_back({.rank = 5, .scale = 0.5F});
    EXPECT_NEAR(replay.Run(counterfactual), ReferenceReplay(analysis, 6, 5, 0.5), 1e-6);
    EXPECT_NEAR(replay.Run({}), analysis.steps.step_seconds[6], 0.001) << "with nothing changed it is what happened";
  }
}

TEST(CounterfactualGainTest, IsWhatTheSlowRankCosts) {
  const Trace trace = Player({.slow_rank = 5, .slow_factor = 1.5, .noise = 0.001}).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<SlowCause> causes = GroupSuspects(trace, analysis.roles, analysis.profile, SuspectsOf(analysis));
  ASSERT_EQ(causes.size(), 1);
  EXPECT_EQ(causes.front().kind, SlowKind::kCompute);
  const std::vector<CounterfactualGain> gains = GainsOf(analysis, causes, {}, kMinCost).of_ranks;
  EXPECT_NEAR(gains.front().seconds_per_step, 0.02, 0.001);
  EXPECT_GT(gains.front().path_share, 0.9);
}

// What the transfers of pair 4 and the slow rank on host 0 cost, both found by hand. `beside`: group whose transfers
// are taken for slow as well.
CounterfactualGains GainsOfBoth(const Job& job, absl::string_view beside = "") {
  const Trace trace = Player(job).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<SlowCause> causes = GroupSuspects(trace, analysis.roles, analysis.profile, SuspectsOf(analysis));
  EXPECT_EQ(causes.size(), 1);
  std::vector<SlowTransfers> transfers;
  for (size_t i = 0; i < analysis.matched.channels.size(); ++i) {
    const auto communicator = static_cast<size_t>(analysis.matched.channels[i].communicator);
    const std::string& name = trace.communicators[communicator].name;
    if (name != beside && name != absl::StrCat("tp", job.slow_pair)) continue;
    const double ratio = name == beside ? 1.5 : job.transfer_factor;
    const SlowChannel slow{.channel = static_cast<int32_t>(i), .first_step = job.transfer_onset, .ratio = ratio};
    SlowTransfers of_group{.channels = {slow}, .first_step = job.transfer_onset};
    for (const int32_t rank : trace.communicators[communicator].members) {
      const int32_t host = trace.ranks[static_cast<size_t>(rank)].host;
      if (of_group.hosts.empty() || of_group.hosts.back() != host) of_group.hosts.push_back(host);
    }
    transfers.insert(name == beside ? transfers.end() : transfers.begin(), of_group);
  }
  return GainsOf(analysis, causes, transfers, kMinCost);
}

// 40 ms more work per step on one rank, 4 x 5 ms longer transfers elsewhere: what all wait for is the rank alone.
constexpr Job kHidingTransfers = {.slow_rank = 1,
                                  .slow_factor = 2,
                                  .onset = 3,
                                  .noise = 0.001,
                                  .slow_pair = 4,
                                  .transfer_factor = 26,
                                  .transfer_onset = 3};

// Both have to go. The ledger shares what the job lost among them.
TEST(CounterfactualGainTest, TransfersThatHideBehindASlowRankCostWhatIsLeftWithoutIt) {
  const CounterfactualGains gains = GainsOfBoth(kHidingTransfers);
  EXPECT_NEAR(gains.of_ranks[0].seconds_per_step, 0.04, 0.001);
  EXPECT_NEAR(gains.of_ranks[0].step_seconds, 0.081, 0.001);
  EXPECT_NEAR(gains.of_transfers[0].seconds_per_step, 0.02, 0.001);
  EXPECT_NEAR(gains.of_transfers[0].step_seconds, 0.061, 0.001);
}

TEST(CounterfactualGainTest, TransfersThatMayBeTheEchoOfOthersCostWhatRemovingThemGivesBackNow) {
  Job job = kHidingTransfers;
  EXPECT_NEAR(GainsOfBoth(job, "dp0").of_transfers[0].seconds_per_step, 0.02, 0.001) << "they never leave their host";
  job.ranks_of_host = 1;
  EXPECT_NEAR(GainsOfBoth(job).of_transfers[0].seconds_per_step, 0.02, 0.001) << "nothing else is slow";
  EXPECT_NEAR(GainsOfBoth(job, "tp2").of_transfers[0].seconds_per_step, 0.02, 0.001) << "between other hosts";
  EXPECT_NEAR(GainsOfBoth(job, "dp0").of_transfers[0].seconds_per_step, 0, 0.001) << "of the same adapter";
}

TEST(CounterfactualGainTest, StepsBeforeTheOtherCauseTellMore) {
  Job job = kHidingTransfers;
  job.onset = 6;
  job.transfer_onset = 2;
  const CounterfactualGains gains = GainsOfBoth(job);
  EXPECT_NEAR(gains.of_transfers[0].seconds_per_step, 0.02, 0.001);
  EXPECT_NEAR(gains.of_transfers[0].step_seconds, 0.061, 0.001) << "as recorded in steps 2 to 5";
}

TEST(CounterfactualGainTest, ARankAndTransfersOfItsWithOneOnsetAreRemovedTogether) {
  Job job = kHidingTransfers;
  job.slow_rank = 8;
  job.slow_factor = 1.5;
  const Trace trace = Player(job).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<SlowCause> causes = GroupSuspects(trace, analysis.roles, analysis.profile, SuspectsOf(analysis));
  ASSERT_EQ(causes.size(), 1);
  SlowTransfers transfers{.first_step = 3, .ranks = {8, 9}};
  for (size_t i = 0; i < analysis.matched.channels.size(); ++i) {
    const auto communicator = static_cast<size_t>(analysis.matched.channels[i].communicator);
    if (trace.communicators[communicator].name == "tp4") {
      transfers.channels = {{.channel = static_cast<int32_t>(i), .first_step = 3, .ratio = 26}};
    }
  }
  const CounterfactualGains gains = GainsOf(analysis, causes, {transfers}, kMinCost);
  EXPECT_NEAR(gains.of_ranks[0].seconds_per_step, 0.04, 0.001);
  EXPECT_EQ(gains.of_transfers[0].seconds_per_step, gains.of_ranks[0].seconds_per_step);
  // What the transfers cost is no gain of an event of slow ranks.
  std::vector<SlowCause> three = causes;
  for (const int32_t rank : {1, 3}) {
    three.push_back({.suspects = {{.rank = rank, .first_step = 3, .last_step = 9, .own_seconds = 0.04}}});
  }
  for (const CounterfactualGain& gain : GainsOf(analysis, three, {transfers}, kMinCost).of_ranks)
    EXPECT_EQ(gain.event_causes, 0);
}

// Ranks that need `seconds` less since step 3 when removed, each a cause.
std::vector<SlowCause> OneOnset(const std::vector<int32_t>& ranks, double seconds) {
  std::vector<SlowCause> causes;
  for (const int32_t rank : ranks) {
    causes.push_back({.suspects = {{.rank = rank,
                                    .first_step = 3,
                                    .last_step = 9,
                                    .excess_seconds = seconds,
                                    .own_seconds = 0.04,
                                    .share_of_steps = 1}}});
  }
  return causes;
}

TEST(CounterfactualGainTest, MoreHostsThanFailAtOnceHaveACommonCause) {
  EXPECT_TRUE(CounterfactualGain{.event_hosts = 3}.IsOfMany(16));
  EXPECT_FALSE(CounterfactualGain{.event_hosts = 3}.IsOfMany(32)) << "a tenth";
  EXPECT_FALSE(CounterfactualGain{.event_hosts = 2}.IsOfMany(4)) << "two may be chance";
  EXPECT_FALSE(CounterfactualGain{}.IsOfMany(4));
}

TEST(CounterfactualGainTest, WhatIsCheapAloneCountsTogetherAndNotOnTheCreditOfTheDear) {
  const std::vector<int32_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Trace trace = Player({.slow_rank = 5, .slow_factor = 1.5, .onset = 3, .noise = 0.001}).Play();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  std::vector<SlowCause> one_dear = OneOnset({1, 3, 5}, 0.001);
  one_dear[2].suspects[0].own_seconds = 0.06;
  one_dear[2].suspects[0].excess_seconds = 0.02;
  const std::vector<CounterfactualGain> gains = GainsOf(analysis, one_dear, {}, kMinCost).of_ranks;
  EXPECT_GT(gains[2].slowdown(), 0.25);
  for (const size_t cheap : {0u, 1u}) {
    EXPECT_LT(gains[cheap].event_share, 0.01);
    EXPECT_EQ(gains[cheap].event_causes, 0u) << "an echo of the dear one";
  }

  const Trace healthy = Player({.noise = 0.001}).Play();
  for (const CounterfactualGain& gain :
       GainsOf(AnalyseTrace(healthy, false), OneOnset(all, 0.001), {}, kMinCost).of_ranks) {
    EXPECT_LT(gain.slowdown(), kMinCost);
    EXPECT_EQ(gain.event_causes, all.size());
    EXPECT_NEAR(gain.event_share, 0.001 / 0.041, 0.002);
    EXPECT_DOUBLE_EQ(gain.Worth(100), gain.event_share) << "12 of 100 machines";
    EXPECT_DOUBLE_EQ(gain.Worth(60), gain.slowdown()) << "12 of 60 have a common cause";
    EXPECT_FALSE(gain.IsOfMany(10)) << "none of them is dear";
  }
}

}  // namespace
}  // namespace lockstep
