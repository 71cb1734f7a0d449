#include "agent/source_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "agent/source_runner.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

TEST(SourceTableTest, EverySourceIsMadeUnderItsOwnName) {
  std::set<std::string> names;
  for (const SourceRow& row : SourceTable()) {
    const absl::StatusOr<std::unique_ptr<Source>> source = row.create(SourceOptions{});
    ASSERT_OK(source);
    EXPECT_EQ((*source)->name(), row.name);
    EXPECT_TRUE(names.emplace(row.name).second) << row.name;
  }
  EXPECT_LE(names.size(), SourceRunner::kMaxSources);
}

TEST(SourceTableTest, AMachineWithNothingOnItHasNoDataAndNoFailure) {
  TemporaryDirectory empty;
  SourceRunner runner(RealClock(), 60 * kNanosPerSecond);
  SourceOptions options;
  options.root = empty.path().string();
  options.kernel_log = false;  // every kernel has one
  options.nvml_library = (empty.path() / "libnvidia-ml.so.1").string();
  for (const SourceRow& row : SourceTable()) {
    absl::StatusOr<std::unique_ptr<Source>> source = row.create(options);
    ASSERT_OK(source);
    runner.Add(*std::move(source), row.may_hang);
  }
  wire::AgentReport report;
  runner.Collect(Tick{}, report);
  EXPECT_EQ(static_cast<size_t>(report.sources_size()), SourceTable().size());
  for (const wire::SourceStatus& status : report.sources()) {
    EXPECT_EQ(status.outcome(), wire::SourceStatus::OUTCOME_NO_DATA) << status.name() << ": " << status.error();
    EXPECT_NE(status.error(), "") << status.name();
  }
  EXPECT_EQ(report.metrics_size(), 0);
}

}  // namespace
}  // namespace lockstep
