// The whole way of a profile on one machine: this test is the process, and speaks what PyTorch speaks.

#include "agent/profiles/profiler.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "agent/demands/demand_kind.h"
#include "agent/kineto/dynolog_client.h"
#include "agent/kineto/fabric_endpoint.h"
#include "agent/kineto/testing/fabric_client.h"
#include "agent/kineto/testing/fake_dynolog.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_stat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/patterns.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPatienceNanos = 60 * kNanosPerSecond;
constexpr char kTrace[] = R"({"traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": 750},
  {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)\u00e9", "pid": 1, "tid": 1, "ts": 750, "dur": 250}
]}
)";

class ProfilerTest : public ::testing::Test {
 protected:
  ProfilerTest()
      : name_(directory_.path().filename().string()),
        fabric_(name_, *RootedFs::Open("/"), RealClock()),
        folder_(std::filesystem::canonical(directory_.path()).string()),
        profiler_(fabric_, nullptr, folder_, RealClock()) {
    EXPECT_TRUE(Comes([&] { return fabric_.statistics().listening; }));
    client_ = std::make_unique<FabricClient>(name_, name_ + "-client");
  }

  template <typename Condition>
  static bool Comes(const Condition& condition) {
    const int64_t end_ns = RealClock().MonotonicNanos() + kPatienceNanos;
    while (!condition()) {
      if (RealClock().MonotonicNanos() > end_ns) return false;
      StopSignal().WaitFor(kNanosPerMilli);
    }
    return true;
  }

  void Register() const {
    ASSERT_TRUE(client_->Poll(getpid(), 0));
    ASSERT_EQ(client_->Receive("req"), "");
  }

  // Polls until there is an order.
  std::string AwaitOrder() const {
    std::string order;
    EXPECT_TRUE(Comes([&] {
      client_->Poll(getpid(), 0);
      order = client_->Receive("req").value_or("");
      return !order.empty();
    }));
    return order;
  }

  // Where the order says that the trace is to be.
  static std::string TraceOf(const std::string& order) {
    for (const absl::string_view line : absl::StrSplit(order, '\n')) {
      if (absl::StartsWith(line, "ACTIVITIES_LOG_FILE=")) return std::string(line.substr(line.find('=') + 1));
    }
    return "";
  }

  // Demands a profile and plays the process: `write` gets the path of the trace.
  template <typename Write>
  absl::StatusOr<wire::RankProfile> Profiled(const wire::ProfileParameters& parameters, const Write& write,
                                             int64_t patience_ns = kPatienceNanos) {
    absl::StatusOr<std::string> answer = absl::UnknownError("none");
    std::thread demand([&] { answer = Demand(parameters.SerializeAsString(), patience_ns); });
    order_ = AwaitOrder();
    write(TraceOf(order_));
    demand.join();
    if (!answer.ok()) return answer.status();
    wire::RankProfile profile;
    EXPECT_TRUE(profile.ParseFromString(*answer));
    return profile;
  }

  absl::StatusOr<std::string> Demand(const std::string& parameters, int64_t patience_ns = kPatienceNanos) {
    return DemandOf(profiler_, parameters, patience_ns);
  }

  absl::StatusOr<std::string> DemandOf(const Profiler& profiler, const std::string& parameters, int64_t patience_ns) {
    const uint64_t start = ReadProcessStat(*RootedFs::Open("/"), getpid())->start_ticks;
    const DemandedProcess self = {.job = "job", .rank = 3, .pid = getpid(), .start_ticks = start, .uid = getuid()};
    return profiler.Profile({self, parameters, RealClock().MonotonicNanos() + patience_ns, stop_});
  }

  static void Put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  const TemporaryDirectory directory_;
  const std::string name_;
  FabricEndpoint fabric_;
  const std::string folder_;
  Profiler profiler_;
  std::unique_ptr<FabricClient> client_;
  StopSignal stop_;
  std::string order_;
};

TEST_F(ProfilerTest, ATraceBecomesPatternsAndIsDeleted) {
  Register();
  std::string path;
  wire::ProfileParameters parameters;
  parameters.set_steps(7);
  const auto profile = Profiled(parameters, [&](const std::string& trace) { Put(path = trace, kTrace); });
  ASSERT_OK(profile);
  EXPECT_THAT(order_, HasSubstr("PROFILE_START_ITERATION_ROUNDUP=10\nACTIVITIES_ITERATIONS=7\n"));
  EXPECT_EQ(profile->pid(), getpid());
  EXPECT_NEAR(profile->window_seconds(), 1e-3, 1e-9);
  ASSERT_EQ(profile->functions_size(), 2);
  EXPECT_EQ(profile->functions(0).name(), "gemm");
  EXPECT_NEAR(profile->functions(0).beta(), 0.75, 1e-6);
  EXPECT_THAT(profile->functions(1).name(), HasSubstr("enumerate(DataLoader)?"));
  EXPECT_EQ(profile->trace_bytes(), sizeof(kTrace) - 1);
  EXPECT_EQ(profile->trace(), "");
  EXPECT_EQ(profile->notes_size(), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ProfilerTest, ATraceThatGrowsIsAwaitedAndMayBeKept) {
  Register();
  std::string path;
  wire::ProfileParameters parameters;
  parameters.set_keep(true);
  parameters.set_duration_ms(500);
  const auto profile = Profiled(parameters, [&](const std::string& trace) {
    // As some versions name it, and in two pieces of which the first ends as a whole one does.
    path = absl::StrCat(trace.substr(0, trace.size() - 5), "_", getpid(), ".json");
    const std::string text = kTrace;
    const size_t half = text.find("},") + 1;
    Put(path, text.substr(0, half));
    StopSignal().WaitFor(Profiler::kQuietNanos / 2);
    std::ofstream(path, std::ios::binary | std::ios::app) << text.substr(half);
  });
  ASSERT_OK(profile);
  EXPECT_THAT(order_, HasSubstr("ACTIVITIES_DURATION_MSECS=500"));
  EXPECT_EQ(profile->functions_size(), 2);
  EXPECT_EQ(profile->trace(), path);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ProfilerTest, ATraceThatIsALinkIsRefusedAndItsTargetStays) {
  Register();
  const std::string target = directory_.Write("target", kTrace);
  const auto profile = Profiled({}, [&](const std::string& trace) { std::filesystem::create_symlink(target, trace); });
  EXPECT_THAT(profile, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a link")));
  EXPECT_TRUE(std::filesystem::exists(target));
}

TEST_F(ProfilerTest, ATraceOfTenGigabytesIsRefusedUnreadAndDeleted) {
  Register();
  std::string path;
  const auto profile = Profiled({}, [&](const std::string& trace) {
    Put(path = trace, "{");
    ASSERT_EQ(truncate(path.c_str(), int64_t{10} << 30), 0);
  });
  EXPECT_THAT(profile, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("take fewer steps")));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ProfilerTest, ATraceWithoutCallsIsNone) {
  Register();
  const auto profile = Profiled({}, [&](const std::string& trace) { Put(trace, "{\"traceEvents\": []}"); });
  EXPECT_THAT(profile, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("found none")));
}

TEST_F(ProfilerTest, WhoHasNotRegisteredIsToldHow) {
  EXPECT_THAT(Demand(""), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("KINETO_USE_DAEMON=1")));
  EXPECT_THAT(Demand("\xff"), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST_F(ProfilerTest, WhatDidNotComeInTimeIsSaid) {
  Register();
  EXPECT_THAT(Demand("", kNanosPerSecond), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("not asked")));
  const auto profile = Profiled(
      {}, [](const std::string&) {}, 2 * kNanosPerSecond);
  EXPECT_THAT(profile, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("count steps")));
  stop_.Stop();
  EXPECT_THAT(Demand(""), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(ProfilerTest, AProcessWithoutThatFolderWritesWhereAllMayWrite) {
  const Profiler elsewhere(fabric_, nullptr, folder_ + "/none", RealClock());
  Register();
  absl::StatusOr<std::string> answer = absl::UnknownError("none");
  std::thread demand([&] { answer = DemandOf(elsewhere, "", kPatienceNanos); });
  const std::string trace = TraceOf(AwaitOrder());
  EXPECT_THAT(trace, ::testing::StartsWith("/tmp/lockstep-profile-"));
  Put(trace, kTrace);
  demand.join();
  EXPECT_OK(answer);
  EXPECT_FALSE(std::filesystem::exists(trace));
}

// The fabric of another agent has the name here, as a dynolog would.
TEST_F(ProfilerTest, WhereADynologHasTheNameItIsAskedInstead) {
  FabricEndpoint second(name_, *RootedFs::Open("/"), RealClock());
  ASSERT_TRUE(Comes([&] { return second.statistics().name_taken; }));
  EXPECT_FALSE(second.statistics().listening);
  FakeDynolog dynolog;
  const DynologClient client(dynolog.port(), RealClock());
  const Profiler profiler(second, &client, folder_, RealClock());

  const absl::StatusOr<std::string> unknown = DemandOf(profiler, "", kPatienceNanos);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("has not registered with the dynolog"));

  dynolog.Register(0, {getpid(), getppid()});
  std::thread process([&] {
    std::string order;
    EXPECT_TRUE(Comes([&] { return !(order = dynolog.TakeOrder(getpid())).empty(); }));
    Put(TraceOf(order), kTrace);
  });
  const absl::StatusOr<std::string> answer = DemandOf(profiler, "", kPatienceNanos);
  process.join();
  ASSERT_OK(answer);
  wire::RankProfile profile;
  ASSERT_TRUE(profile.ParseFromString(*answer));
  EXPECT_EQ(profile.functions(0).name(), "gemm");
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "no trace is left";

  const absl::StatusOr<std::string> never = DemandOf(profiler, "", kNanosPerSecond / 2);
  EXPECT_EQ(never.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(never.status().message()), HasSubstr("dynolog was to tell the process"));
}

TEST_F(ProfilerTest, WhereTheNameIsTakenAndNobodyIsAskedThatIsSaid) {
  FabricEndpoint second(name_, *RootedFs::Open("/"), RealClock());
  ASSERT_TRUE(Comes([&] { return second.statistics().name_taken; }));
  const Profiler profiler(second, nullptr, folder_, RealClock());
  EXPECT_EQ(DemandOf(profiler, "", kPatienceNanos).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace lockstep
