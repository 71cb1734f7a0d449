// The engine answers the same whoever runs its pieces.

#include "base/executor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/thread_executor.h"
#include "detector/engine/diagnosis.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/suites/episode_run.h"
#include "eval/suites/suite.h"
#include "gtest/gtest.h"
#include "sim/episode.h"

namespace lockstep {
namespace {

constexpr size_t kLanes = 3;

// Promises several lanes and begins with the last piece.
class BackwardsExecutor final : public Executor {
 public:
  size_t lanes() const override { return kLanes; }
  void Run(size_t count, absl::FunctionRef<void(size_t)> piece) override {
    most_pieces_ = std::max(most_pieces_, count);
    for (size_t i = count; i > 0; --i) piece(i - 1);
  }

  size_t most_pieces() const { return most_pieces_; }

 private:
  size_t most_pieces_ = 0;
};

class ExecutorTest : public testing::TestWithParam<const char*> {};

TEST_P(ExecutorTest, TheReportDoesNotDependOnIt) {
#ifdef LOCKSTEP_SANITIZED
  constexpr uint64_t kEpisodes = 1;
#else
  constexpr uint64_t kEpisodes = 3;
#endif
  ThreadExecutor threads(kLanes);
  BackwardsExecutor backwards;
  size_t verdicts = 0;
  for (uint64_t number = 40; number < 40 + kEpisodes; ++number) {
    const Episode episode = SimulatePlan(PlanOf(*FindSuite(GetParam()), number));
    const JobReport alone = Diagnose(episode.evidence, {});
    for (Executor* const executor : {static_cast<Executor*>(&threads), static_cast<Executor*>(&backwards)}) {
      const JobReport report = Diagnose(episode.evidence, {.executor = executor});
      EXPECT_EQ(report.state, alone.state);
      EXPECT_EQ(report.verdicts, alone.verdicts) << number;
    }
    verdicts += alone.verdicts.size();
  }
  EXPECT_GT(verdicts, 0u);
  EXPECT_GT(backwards.most_pieces(), kLanes);
}

INSTANTIATE_TEST_SUITE_P(Suites, ExecutorTest, testing::Values("slow-compute", "two-at-once", "tenth-at-once", "hangs"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace lockstep
