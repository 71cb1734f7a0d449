#include "cli/nccl_conf.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

constexpr char kPlugin[] = "/usr/lib/lockstep/libnccl-profiler-lockstep.so";
constexpr char kLine[] = "NCCL_PROFILER_PLUGIN=/usr/lib/lockstep/libnccl-profiler-lockstep.so\n";

std::string With(const std::string& text, bool chain = false) {
  const absl::StatusOr<std::string> edited = WithPlugin(text, kPlugin, chain);
  EXPECT_OK(edited);
  return edited.ok() ? *edited : "";
}

TEST(NcclConfTest, AddsItsLineOnceAndKeepsTheOthers) {
  EXPECT_EQ(With(""), kLine);
  const std::string others = "# site\n  NCCL_DEBUG = WARN\r\n\nNCCL_IB_HCA=mlx5\n";
  EXPECT_EQ(With(others), others + kLine);
  EXPECT_EQ(With(With(others)), others + kLine);
  EXPECT_EQ(With("NCCL_DEBUG=WARN"), std::string("NCCL_DEBUG=WARN\n") + kLine) << "a last line without an end";
  EXPECT_EQ(With(std::string("NCCL_PROFILER_PLUGIN=/old/libnccl-profiler-lockstep.so\nA=1\n")),
            std::string("A=1\n") + kLine);
  EXPECT_EQ(With("#NCCL_PROFILER_PLUGIN=other\n"), std::string("#NCCL_PROFILER_PLUGIN=other\n") + kLine);
  EXPECT_EQ(With("MY_NCCL_PROFILER_PLUGIN=x\n"), std::string("MY_NCCL_PROFILER_PLUGIN=x\n") + kLine);
}

TEST(NcclConfTest, AnotherProfilerIsRefusedOrChained) {
  const std::string other = "A=1\nNCCL_PROFILER_PLUGIN=inspector\nB=2\n";
  EXPECT_EQ(WithPlugin(other, kPlugin, false).status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string chained = With(other, /*chain=*/true);
  EXPECT_EQ(chained, std::string("A=1\nB=2\n") + kLine + "LOCKSTEP_CHAIN_PROFILER=inspector\n");
  EXPECT_EQ(With(chained), chained);
  EXPECT_EQ(*WithPlugin(chained, "/opt/libnccl-profiler-lockstep.so", false),
            "A=1\nB=2\nNCCL_PROFILER_PLUGIN=/opt/libnccl-profiler-lockstep.so\nLOCKSTEP_CHAIN_PROFILER=inspector\n");
  EXPECT_EQ(WithoutPlugin(chained), "A=1\nB=2\nNCCL_PROFILER_PLUGIN=inspector\n");
}

TEST(NcclConfTest, RemovesOnlyItsOwn) {
  EXPECT_EQ(WithoutPlugin(With("A=1\n")), "A=1\n");
  EXPECT_EQ(WithoutPlugin("NCCL_PROFILER_PLUGIN=other\n"), "NCCL_PROFILER_PLUGIN=other\n");
  EXPECT_EQ(WithoutPlugin(""), "");
}

TEST(NcclConfTest, TheFirstLineWins) {
  EXPECT_EQ(NcclConfValue("K=a=b\nK=c\n", "K"), "a=b");
  EXPECT_EQ(NcclConfValue("KK=a\n", "K"), "");
}

}  // namespace
}  // namespace lockstep
