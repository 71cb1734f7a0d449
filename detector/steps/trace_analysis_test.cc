#include "detector/steps/trace_analysis.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/own_profile.h"
#include "detector/testing/meeting_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 96;
constexpr int32_t kIdle = 60;  // of them, while the others wait
constexpr int32_t kSteps = 12;
constexpr int32_t kPauseStep = 7;
constexpr int64_t kMilli = 1'000'000;

// Data parallel: 100 ms of work, then an AllReduce. Before one step most ranks are idle for 900 ms and the others wait
// for them. `numbers` by place: what its rank is called.
Trace PausingJob(const std::vector<int32_t>& numbers) {
  TraceBuilder builder("job");
  const int32_t communicator = builder.AddCommunicator("world", "", kRanks);
  for (int32_t place = 0; place < kRanks; ++place) {
    const int32_t rank = builder.AddRank({.rank = numbers[static_cast<size_t>(place)],
                                          .host = builder.AddHost(absl::StrCat("h", place / 8)),
                                          .gpu = place % 8});
    builder.AddMember(communicator, place, rank);
    int64_t now_ns = 0;
    for (int32_t step = 0; step < kSteps; ++step) {
      const int64_t pause_ns = step == kPauseStep ? 900 * kMilli : 0;
      const int64_t start_ns = now_ns + 100 * kMilli + (place < kIdle ? pause_ns : 0);
      now_ns += 110 * kMilli + pause_ns;
      builder.Add(rank, {.enqueue_ns = start_ns,
                         .start_ns = start_ns,
                         .end_ns = now_ns,
                         .sequence = static_cast<uint64_t>(step),
                         .bytes = 4096,
                         .communicator = communicator,
                         .kind = OperationKind::kAllReduce});
    }
  }
  return builder.Build();
}

// Those that were idle have odd numbers wherever they can: looking at every other rank would see the minority.
std::vector<int32_t> IdleOnesOdd() {
  std::vector<int32_t> numbers;
  for (int32_t place = 0; place < kRanks; ++place) {
    numbers.push_back(place < kRanks / 2 ? 2 * place + 1 : 2 * (place - kRanks / 2));
  }
  return numbers;
}

TEST(TraceAnalysisTest, APauseDoesNotDependOnTheNumbersOfRanks) {
  std::vector<int32_t> in_order;
  for (int32_t place = 0; place < kRanks; ++place) in_order.push_back(place);
  for (const std::vector<int32_t>& numbers : {in_order, IdleOnesOdd()}) {
    const Trace trace = PausingJob(numbers);
    const TraceAnalysis analysis = AnalyseTrace(trace, /*flip_lateness=*/false);
    const std::vector<double> pauses = StructuralProfile(analysis).pause_seconds;
    ASSERT_EQ(pauses.size(), static_cast<size_t>(kSteps));
    EXPECT_NEAR(pauses[kPauseStep], 0.9, 1e-6);
  }
}

// Hosts run 80 ms ahead of their GPUs, and the recording ends in the last step, of which only the launch is known.
TEST(TraceAnalysisTest, AStepThatIsNotOverHasNoLength) {
  TraceBuilder builder("job");
  const int32_t communicator = builder.AddCommunicator("world", "", 4);
  for (int32_t place = 0; place < 4; ++place) {
    const int32_t rank = builder.AddRank({.rank = place, .host = builder.AddHost(absl::StrCat("h", place))});
    builder.AddMember(communicator, place, rank);
    for (int32_t step = 0; step < kSteps; ++step) {
      const int64_t start_ns = (step * 110 + 100) * kMilli;
      const bool over = step + 1 < kSteps;
      builder.Add(rank, {.enqueue_ns = start_ns - 80 * kMilli,
                         .start_ns = over ? start_ns : kNoTime,
                         .end_ns = over ? start_ns + 10 * kMilli : kNoTime,
                         .sequence = static_cast<uint64_t>(step),
                         .bytes = 4096,
                         .communicator = communicator,
                         .kind = OperationKind::kAllReduce});
    }
  }
  const Trace trace = builder.Build();
  const StepTable steps = AnalyseTrace(trace, /*flip_lateness=*/false).steps;
  ASSERT_EQ(steps.steps, kSteps);
  EXPECT_EQ(steps.step_seconds.back(), 0) << "not 20 ms, from an end to a launch";
  EXPECT_EQ(steps.usual.back(), 0);
  EXPECT_NEAR(steps.step_seconds[kSteps - 2], 0.11, 1e-9);
}

// Four groups of four ranks that exchange eight times a step, after 10 ms of work each, and one AllReduce of all after
// 50 ms more. `times`: the work before an exchange is longer by.
Trace ExchangingJob(const std::function<double(int32_t rank, int32_t exchange)>& times) {
  constexpr int32_t kGroups = 4, kOfGroup = 4, kExchanges = 8;
  Random random(7);
  TraceBuilder builder("job");
  const MeetingWorld world = AddWorld(kGroups * kOfGroup, "world", &builder);
  const std::vector<int32_t>& ranks = world.handles;
  std::vector<int32_t> groups;
  for (int32_t rank = 0; rank < kGroups * kOfGroup; ++rank) {
    groups.push_back(builder.AddCommunicator(absl::StrCat("g", rank / kOfGroup), "", kOfGroup));
    builder.AddMember(groups.back(), rank % kOfGroup, ranks[static_cast<size_t>(rank)]);
  }
  std::vector<int64_t> now_ns(ranks.size(), kMilli);
  const auto meet = [&](int32_t first, int32_t last, int32_t communicator, OperationKind kind, uint64_t sequence,
                        const std::function<double(int32_t rank)>& work) {
    std::vector<int64_t> starts_ns;
    for (int32_t rank = first; rank < last; ++rank) {
      const double milliseconds = 10 * work(rank) * (1 + 0.01 * random.Gaussian());
      starts_ns.push_back(now_ns[static_cast<size_t>(rank)] + static_cast<int64_t>(milliseconds * kMilli));
    }
    const int64_t end_ns = *std::max_element(starts_ns.begin(), starts_ns.end()) + kMilli;
    for (int32_t rank = first; rank < last; ++rank) {
      const int64_t start_ns = starts_ns[static_cast<size_t>(rank - first)];
      builder.Add(ranks[static_cast<size_t>(rank)], {.enqueue_ns = start_ns,
                                                     .start_ns = start_ns,
                                                     .end_ns = end_ns,
                                                     .sequence = sequence,
                                                     .bytes = 1 << 20,
                                                     .communicator = communicator,
                                                     .kind = kind});
      now_ns[static_cast<size_t>(rank)] = end_ns;
    }
  };
  for (int32_t step = 0; step < kSteps; ++step) {
    for (int32_t exchange = 0; exchange < kExchanges; ++exchange) {
      for (int32_t group = 0; group < kGroups; ++group) {
        const int32_t first = group * kOfGroup;
        meet(first, first + kOfGroup, groups[static_cast<size_t>(first)], OperationKind::kAllToAll,
             static_cast<uint64_t>(step * kExchanges + exchange), [&](int32_t rank) { return times(rank, exchange); });
      }
    }
    meet(0, kGroups * kOfGroup, world.communicator, OperationKind::kAllReduce, static_cast<uint64_t>(step),
         [](int32_t) { return 5.0; });
  }
  return builder.Build();
}

TEST(TraceAnalysisTest, WorkBetweenExchangesIsComparedUnlessRoutingDecidesIt) {
  const auto shared_part = [](const Trace& trace) {
    const OwnProfile profile = AnalyseTrace(trace, /*flip_lateness=*/false).profile;
    const size_t cell = profile.steps / 2;
    return static_cast<double>(profile.shared[cell] / profile.own[cell]);
  };
  const Trace sequences = ExchangingJob([](int32_t, int32_t) { return 1.0; });
  EXPECT_NEAR(shared_part(sequences), 1, 1e-6);
  const Trace experts = ExchangingJob(
      [](int32_t rank, int32_t exchange) { return exchange % 2 == 1 && (rank + exchange / 2) % 4 == 0 ? 2.0 : 1.0; });
  EXPECT_LT(shared_part(experts), 0.5);
}

}  // namespace
}  // namespace lockstep
