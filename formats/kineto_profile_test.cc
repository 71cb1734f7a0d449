// Profiles in Kineto's traces, from all that PyTorch has written them with, and from nobody.

#include "formats/kineto_profile.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "formats/byte_source.h"
#include "formats/testing/test_bytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// Microseconds.
std::string Event(const std::string& category, const std::string& name, int64_t begin, int64_t duration,
                  const std::string& arguments = "", int thread = 1) {
  return absl::StrCat(R"({"ph": "X", "cat": ")", category, R"(", "name": ")", name, R"(", "pid": 7, "tid": )", thread,
                      R"(, "ts": )", begin, R"(, "dur": )", duration, R"(, "args": {)", arguments, "}}");
}

std::string Trace(const std::vector<std::string>& events,
                  const std::string& members = R"("distributedInfo": {"rank": 3},)") {
  return absl::StrCat("{", members, R"("traceEvents": [)", absl::StrJoin(events, ",\n"), "]}");
}

ProfileResult Read(const std::string& text, const std::string& path = "trace.json") {
  return ReadKinetoProfile(path, *SourceOf(text));
}

const FunctionPattern& Find(const ProfileResult& result, const std::string& name) {
  static const FunctionPattern none;
  for (const FunctionPattern& pattern : result.patterns.functions) {
    if (pattern.name == name) return pattern;
  }
  ADD_FAILURE() << "no " << name;
  return none;
}

TEST(KinetoProfileTest, EveryKindOfCall) {
  const ProfileResult result = Read(Trace({
      Event("user_annotation", "ProfilerStep#4", 0, 1000),
      Event("python_function", "train.py(1): main", 0, 1000),
      Event("cpu_op", "aten::linear", 100, 100),
      Event("cuda_runtime", "cudaLaunchKernel", 120, 20),
      Event("kernel", "gemm", 200, 100, R"("est. achieved occupancy %": 40)", 17),
      Event("kernel", "ncclDevKernel_AllReduce", 250, 150,
            R"("In msg nelems": 1500, "dtype": "Float", "Collective name": "allreduce")", 18),
      Event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 290, 20, R"x("memory bandwidth (GB/s)": 12.5)x", 19),
      Event("gpu_user_annotation", "nccl:all_reduce", 0, 1000),
      Event("Trace", "PyTorch Profiler (0)", 0, 9000),
      R"({"ph": "s", "id": 1, "pid": 7, "tid": 1, "ts": 5, "cat": "ac2g", "name": "ac2g"})",
      R"({"ph": "M", "name": "process_name", "pid": 7, "ts": 0, "args": {"name": "python"}})",
  }));
  EXPECT_OK(result.status);
  EXPECT_EQ(result.patterns.rank, 3);
  EXPECT_EQ(result.patterns.steps, 1);
  EXPECT_EQ(result.events, 11u);
  EXPECT_DOUBLE_EQ(result.patterns.window_seconds, 0.001);
  EXPECT_EQ(result.patterns.functions.size(), 6u);
  EXPECT_NEAR(Find(result, "gemm").beta, 0.1, 1e-9);
  EXPECT_EQ(Find(result, "gemm").kind, FunctionKind::kGpuCompute);
  EXPECT_NEAR(Find(result, "gemm").mu, 0.4, 1e-9);
  EXPECT_NEAR(Find(result, "Memcpy HtoD (Pinned -> Device)").beta, 0.01, 1e-9) << "hidden behind the kernel at first";
  EXPECT_NEAR(Find(result, "Memcpy HtoD (Pinned -> Device)").mu, 12.5e9, 1);
  EXPECT_NEAR(Find(result, "ncclDevKernel_AllReduce").beta, 0.09, 1e-9);
  EXPECT_NEAR(Find(result, "ncclDevKernel_AllReduce").mu, 6000 / 150e-6, 1);
  EXPECT_NEAR(Find(result, "aten::linear").beta, 0.08, 1e-9);
  EXPECT_NEAR(Find(result, "cudaLaunchKernel").beta, 0.02, 1e-9);
  EXPECT_NEAR(Find(result, "train.py(1): main").beta, 0.7, 1e-9);
}

TEST(KinetoProfileTest, TheProfilerWithoutKinetoHasNoCategories) {
  const ProfileResult result = Read(
      R"([{"name": "aten::conv2d", "ph": "X", "ts": 10.5, "dur": 20, "tid": 1, "pid": "CPU functions", "args": {}},
          {"name": "cudnn", "ph": "X", "ts": 40.5, "dur": 60, "tid": 0, "pid": "CUDA functions", "args": {}}])",
      "trace_rank2.json");
  EXPECT_OK(result.status);
  EXPECT_EQ(result.patterns.rank, 2);
  EXPECT_EQ(Find(result, "aten::conv2d").kind, FunctionKind::kOperator);
  EXPECT_EQ(Find(result, "cudnn").kind, FunctionKind::kGpuCompute);
  EXPECT_NEAR(Find(result, "cudnn").beta, 60 / 90.0, 1e-9);
}

TEST(KinetoProfileTest, WhatIsWrongHasOneReason) {
  const std::string whole = Trace({Event("cpu_op", "a", 0, 10), Event("cpu_op", "b", 20, 10)});
  const struct {
    std::string text;
    std::string reason;
  } cases[] = {
      {"", "byte 0: expected '{', found the end of the data"},
      {"\x01\x02", "byte 0: expected '{', found '\\x01'"},
      {Trace({}), "expected calls of functions, found none among 0 events"},
      {Trace({R"({"ph": "M", "name": "process_name"})"}), "expected calls of functions, found none among 1 events"},
      {whole.substr(0, whole.size() - 20), "expected the rest of a value, found the end of the data"},
      {Trace({Event("cpu_op", "a", 0, 10), R"({"cat": "cpu_op", "name": "b", "dur": 4})"}),
       "expected complete events of at most 1310720 bytes, found 1 that are not"},
      {Trace({Event("cpu_op", "a", 0, 10), Event("cpu_op", std::string(2 << 20, 'n'), 20, 10)}),
       "expected complete events of at most 1310720 bytes, found 1 that are not"},
      {Trace({Event("cpu_op", "a", 0, 10), Event("cpu_op", std::string(20 << 20, 'n'), 20, 10)}),
       "expected a value of at most 8388608 bytes, found a longer one"},
  };
  for (const auto& [text, reason] : cases) {
    const ProfileResult result = Read(text);
    EXPECT_THAT(result.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(reason)));
  }
}

TEST(KinetoProfileTest, WhatPrecedesTheDamageCounts) {
  const std::string whole = Trace({Event("cpu_op", "a", 0, 10), Event("cpu_op", "b", 20, 10)});
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    const ProfileResult result = Read(whole.substr(0, size));
    EXPECT_EQ(result.status.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_EQ(result.patterns.functions.size(), result.events) << size;
  }
}

TEST(KinetoProfileTest, NamesOfAMegabyteAreCut) {
  const ProfileResult result = Read(Trace({Event("cpu_op", std::string(size_t{1} << 20, 'n'), 0, 10)}));
  EXPECT_OK(result.status);
  EXPECT_EQ(result.patterns.functions.at(0).name, std::string(kMostFunctionNameBytes, 'n'));
}

TEST(KinetoProfileTest, WhateverTheBytesTheSummaryIsOne) {
  const std::string whole = Trace({Event("user_annotation", "ProfilerStep#1", 0, 100), Event("kernel", "k", 5, 50),
                                   Event("kernel", "ncclKernel", 20, 70), Event("cpu_op", "a", 0, 99)});
  size_t kept = 0;
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    Random random(seed);
    const ProfileResult result = Read(Damaged(whole, random));
    double shares = result.patterns.idle + result.patterns.left_out.beta;
    for (const FunctionPattern& pattern : result.patterns.functions) shares += pattern.beta;
    if (result.patterns.window_seconds > 0) {
      EXPECT_NEAR(shares, 1, 1e-6) << seed;
    }
    kept += result.patterns.functions.size();
  }
  EXPECT_GT(kept, 500u);
}

TEST(KinetoProfileTest, PublicTraces) {
  const std::filesystem::path folder = PublicRecordings("formats/kineto_profile_test.cc");
  if (folder.empty()) GTEST_SKIP() << "the public recordings are not beside the repository";
  const struct {
    const char* file;
    int32_t rank;
    int32_t steps;
    const char* function;
    double least_beta;
  } cases[] = {
      {"nccl_parser_config__nccl_data.json.gz", 0, 3, "ncclKernel_AllReduce_RING_LL_Sum_float", 0.05},
      {"trace_filter__sampled_rank-0.json.gz", 0, 2, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 0.2},
      {"trace_filter__sampled_rank-1.json.gz", 1, 2, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 0.2},
      {"rank_unavailable__rank_not_found.json.gz", -1, 1, "aten::copy_", 0.05},
      {"distributed_info_unavailable__distributed_info_not_found.json.gz", -1, 1, "aten::copy_", 0.05},
  };
  for (const auto& expected : cases) {
    const std::string path = folder / "kineto" / expected.file;
    const auto source = ByteSource::Open(path);
    ASSERT_OK(source);
    const ProfileResult result = ReadKinetoProfile("trace.json", **source);
    EXPECT_OK(result.status);
    EXPECT_EQ(result.patterns.rank, expected.rank) << path;
    EXPECT_EQ(result.patterns.steps, expected.steps) << path;
    const auto found =
        std::find_if(result.patterns.functions.begin(), result.patterns.functions.end(),
                     [&](const FunctionPattern& pattern) { return pattern.name.rfind(expected.function, 0) == 0; });
    ASSERT_NE(found, result.patterns.functions.end()) << path;
    EXPECT_GE(found->beta, expected.least_beta) << path;
  }
}

}  // namespace
}  // namespace lockstep
