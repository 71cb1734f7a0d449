// Kineto traces: kernels and their launches, whole files, and what a trace leaves out.

#include "formats/kineto_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "base/shuffle.h"
#include "base/testing/status_matchers.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "formats/evidence_builder.h"
#include "formats/read_result.h"
#include "formats/testing/kineto_text.h"
#include "formats/testing/test_bytes.h"
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KinetoKernelTest, TimesMayHaveFractionsAndABase) {
  const struct {
    const char* ts;
    const char* dur;
    const char* base;
    int64_t start_ns, end_ns;
  } cases[] = {
      {"100", "10", "", 100'000, 110'000},
      {"100.25", "10.5", "", 100'250, 110'750},
      {"0", "0", "", 0, 0},
      {"-3.5", "1", "", -3'500, -2'500},
      {"100", "10", "1000000", 1'100'000, 1'110'000},
      {"1760000000433884.331", "0.001", "", 1'760'000'000'433'884'250,
       1'760'000'000'433'884'251},                             // what a double holds
      {"100", "10", "-5", 100'000, 110'000},                   // no base at all
      {"100", "10", "9223372036854775807", 100'000, 110'000},  // nor this
      {"100", "10", "\"soon\"", 100'000, 110'000},
  };
  for (const auto& expected : cases) {
    const Parsed parsed = Parse(TraceText({Kernel(1, kGroup, {{"ts", expected.ts}, {"dur", expected.dur}})},
                                          {{"baseTimeNanoseconds", expected.base}}));
    EXPECT_OK(parsed.result.status);
    ASSERT_EQ(parsed.trace().operations.size(), 1u) << expected.ts;
    EXPECT_EQ(parsed.trace().operations[0].start_ns, expected.start_ns) << expected.ts << " " << expected.base;
    EXPECT_EQ(parsed.trace().operations[0].end_ns, expected.end_ns) << expected.ts;
    EXPECT_EQ(parsed.trace().operations[0].quality, TimingQuality::kGpuTimer);
  }
}

TEST(KinetoKernelTest, TheOperationIsThatOfTheCollectiveOrOfTheKernel) {
  const struct {
    const char* collective;
    const char* kernel;
    OperationKind kind;
  } cases[] = {
      {"\"allreduce\"", "ncclKernel", OperationKind::kAllReduce},
      {"\"_allgather_base\"", "ncclKernel", OperationKind::kAllGather},
      {"\"reduce_scatter_tensor_coalesced\"", "ncclKernel", OperationKind::kReduceScatter},
      {"\"all_to_allv\"", "ncclDevKernel_SendRecv", OperationKind::kAllToAll},
      {"\"send\"", "ncclDevKernel_SendRecv", OperationKind::kSend},
      {"", "ncclDevKernel_AllGather_RING_LL", OperationKind::kAllGather},
      {"", "ncclKernel_ReduceScatter_TREE", OperationKind::kReduceScatter},
      {"\"mystery\"", "ncclDevKernel_Broadcast_RING", OperationKind::kBroadcast},
      {"", "ncclDevKernel_Reduce_Sum", OperationKind::kReduce},
      {"", "ncclDevKernel_SendRecv", OperationKind::kUnknown},  // may be anything that is made of it
  };
  for (const auto& [collective, kernel, kind] : cases) {
    const Parsed parsed = Parse(TraceText(
        {Kernel(1, With(kGroup, {{"Collective name", collective}}), {{"name", absl::StrCat("\"", kernel, "\"")}})}));
    EXPECT_EQ(parsed.trace().operations.at(0).kind, kind) << collective << kernel;
  }
}

TEST(KinetoKernelTest, BytesAreElementsTimesTheirSize) {
  const struct {
    const char* elements;
    const char* type;
    uint64_t bytes;
  } cases[] = {{"8", "\"Float\"", 32},
               {"8", "\"BFloat16\"", 16},
               {"\"8\"", "\"Double\"", 64},
               {"8", "\"Unheard\"", 0},
               {"0", "\"Float\"", 0},
               {"-8", "\"Float\"", 0},
               {"9000000000000000", "\"Float\"", 0},
               {"", "\"Float\"", 0},
               {"8", "", 0}};
  for (const auto& [elements, type, bytes] : cases) {
    const Members arguments = With(kGroup, {{"In msg nelems", elements}, {"dtype", type}});
    EXPECT_EQ(Parse(TraceText({Kernel(1, arguments)})).trace().operations.at(0).bytes, bytes) << elements << type;
  }
}

TEST(KinetoKernelTest, TheCallIsTheLaunchOfTheSameCorrelation) {
  const struct {
    const char* name;
    std::vector<std::string> events;
    int64_t enqueue_ns;
  } cases[] = {
      {"before it", {Launch(90, 100), Kernel(100)}, 90'000},
      {"behind it in the file", {Kernel(100), Launch(90, 100)}, 90'000},
      {"by the driver", {Launch(80, 100, "cuda_driver"), Kernel(100)}, 80'000},
      {"by an old trace's name", {Launch(80, 100, "Runtime"), Kernel(100)}, 80'000},
      {"of another correlation", {Launch(90, 99), Kernel(100)}, 100'000},
      {"of another category", {Launch(90, 100, "python_function"), Kernel(100)}, 100'000},
      {"after it, by two clocks", {Launch(105, 100), Kernel(100)}, 100'000},
      {"none", {Kernel(100)}, 100'000},
      {"none that could be told", {Launch(90, -1), Kernel(100, With(kGroup, {{"correlation", "-1"}}))}, 100'000},
  };
  for (const auto& expected : cases) {
    const Parsed parsed = Parse(TraceText(expected.events));
    EXPECT_OK(parsed.result.status);
    EXPECT_EQ(parsed.trace().operations.at(0).enqueue_ns, expected.enqueue_ns) << expected.name;
  }
}

TEST(KinetoKernelTest, OnlyNcclKernelsCount) {
  const Parsed parsed = Parse(TraceText({
      Kernel(1),
      Kernel(2, kGroup, {{"cat", "\"Kernel\""}}),
      Kernel(3, kGroup, {{"cat", "\"gpu_user_annotation\""}}),
      Kernel(4, kGroup, {{"name", "\"void at::native::nccl_like\""}}),
      Kernel(5, kGroup, {{"name", "\"MyKernel\""}}),
      R"({"ph": "M", "name": "process_name", "args": {"name": "nccl"}})",
      R"({"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "ts": 5})",
      "17",
      "null",
      "\"text with nccl in it\"",
  }));
  EXPECT_EQ(parsed.result.records, 2u);
  EXPECT_EQ(parsed.trace().operations.size(), 2u);
}

TEST(KinetoKernelTest, AnEventThatLacksSomethingIsCounted) {
  for (const Members& members : {Members{{"ts", ""}},
                                 {{"dur", ""}},
                                 {{"ts", "\"soon\""}},
                                 {{"dur", "-1"}},
                                 {{"ts", "1e300"}},
                                 {{"args", "[]"}},
                                 {{"args", ""}}}) {
    std::string event = Kernel(5, kGroup, members);
    if (members.count("args") != 0 && members.at("args").empty()) {
      event = R"({"cat": "kernel", "name": "ncclKernel", "ts": 5, "dur": 1})";
    }
    const Parsed parsed = Parse(TraceText({Kernel(1), event, Kernel(9)}));
    EXPECT_THAT(parsed.result.status,
                StatusIs(absl::StatusCode::kDataLoss, "expected complete events, found 1 without ts, dur or args"))
        << event;
    EXPECT_EQ(parsed.result.records, 2u);
    EXPECT_EQ(parsed.result.malformed, 1u);
    EXPECT_EQ(parsed.trace().lost_records, 1u);
  }
}

TEST(KinetoFileTest, TheRankIsOfTheTraceOrOfTheNameOfTheFile) {
  const struct {
    const char* path;
    const char* information;
    int32_t expected;  // -1 = refused
  } cases[] = {
      {"x.json", R"({"rank": 5})", 5},
      {"rank3.json", R"({"rank": 5})", 5},
      {"rank3.json", "", 3},
      {"rank3.json", R"({"rank": "five"})", 3},
      {"rank3.json", R"([broken)", 3},
      {"dir_rank7/step12.json", "", -1},
      {"x.json", R"({"rank": 1048576})", -1},
      {"trace_rank-2_step9.json.gz", "", 2},
  };
  for (const auto& [path, information, expected] : cases) {
    // What is no JSON inside is found by its brackets alone.
    const std::string text =
        TraceText({Kernel(1)}, {{"distributedInfo", std::string(information) == "[broken" ? "[broken]" : information}});
    const Parsed parsed = Parse(text, path);
    if (expected < 0) {
      EXPECT_THAT(parsed.result.status,
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected distributedInfo with a rank, or 'rank'")));
      EXPECT_TRUE(parsed.trace().operations.empty()) << path;
      EXPECT_EQ(parsed.result.records, 0u) << path;
    } else {
      EXPECT_OK(parsed.result.status);
      EXPECT_EQ(parsed.trace().ranks.at(0).rank, expected) << path << information;
    }
  }
}

TEST(KinetoFileTest, TheHostIsThatOfTheFilesName) {
  EXPECT_THAT(Parse(TraceText({Kernel(1)}), "d/node-7_123.1700000000.pt.trace.json").trace().hosts,
              ElementsAre("node-7"));
  EXPECT_TRUE(IsStandInHost(Parse(TraceText({Kernel(1)}), "trace.json").trace().hosts.at(0)));
}

TEST(KinetoFileTest, ABareArrayOfEventsIsATraceToo) {
  const std::string events = absl::StrCat(" [", Kernel(1), ",", Kernel(20), "]");
  for (const std::string& text : {events, Gzipped(events), Zstandard(events)}) {
    const Parsed parsed = Parse(text, "rank4.json");
    EXPECT_OK(parsed.result.status);
    EXPECT_EQ(parsed.trace().operations.size(), 2u);
  }
}

TEST(KinetoFileTest, ATraceWithoutKernelsSaysSo) {
  const Parsed parsed = Parse(TraceText({R"({"ph": "M"})", R"({"ph": "M"})"}));
  EXPECT_OK(parsed.result.status);
  EXPECT_THAT(parsed.job.notes, ElementsAre(HasSubstr("The trace of rank 0 has no NCCL kernels among its 2 events")));
  EXPECT_EQ(parsed.trace().ranks.size(), 1u) << "the rank left records, only none of communication";
  EXPECT_THAT(parsed.trace().missing_ranks, ElementsAre(1));
}

TEST(KinetoFileTest, ATraceThatIsCutOffBeforeItsKernelsSaysSo) {
  const std::string whole = TraceText({R"({"ph": "M"})", Kernel(1)});
  const Parsed parsed = Parse(whole.substr(0, whole.size() - 9));
  EXPECT_EQ(parsed.result.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(parsed.job.notes, ElementsAre(HasSubstr("The trace of rank 0 is cut off or damaged after 1 events")));
}

TEST(KinetoFileTest, DamageHasAPlace) {
  const std::string whole = TraceText({Kernel(1), Kernel(20)});
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"", "byte 0: expected '{', found the end of the data"},
      {"17", "byte 0: expected '{', found '1'"},
      {"{\"a\" 1}", "byte 5: expected ':', found '1'"},
      {"{\"a\": 1 \"b\": 2}", "byte 8: expected ',', found '\\\"'"},
      {"{\"traceEvents\": {}}", "byte 16: expected '[', found '{'"},
      {"{\"traceEvents\": [1 2]}", "byte 19: expected ',', found '2'"},
      {whole.substr(0, whole.size() - 1),
       absl::StrCat("byte ", whole.size() - 1, ": expected ',', found the end of the data")},
      {"{\"traceEvents\": []", "byte 18: expected ',', found the end of the data"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Parse(text, "rank0.json").result.status, StatusIs(absl::StatusCode::kDataLoss, message)) << text;
  }
}

TEST(KinetoFileTest, EveryCutKeepsWhatPrecedesIt) {
  const std::string whole = TraceText({Kernel(1), Kernel(20), Kernel(30)});
  uint64_t before = 0;
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    const Parsed parsed = Parse(whole.substr(0, size), "rank0.json");
    EXPECT_EQ(parsed.result.status.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_GE(parsed.result.records, before) << size;
    before = parsed.result.records;
  }
  EXPECT_EQ(before, 3u);
}

TEST(KinetoDamageTest, WhateverTheBytesTimesAreInOrder) {
  const std::string whole =
      TraceText({Launch(5, 10), Kernel(10), Kernel(20, {{"stream", "9"}}),
                 Kernel(30, With(kGroup, {{"Seq", "3"}, {"Collective name", "\"send\""}, {"Dst Rank", "1"}}))},
                {{"baseTimeNanoseconds", "1000"}});
  uint64_t kept = 0;
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    Random random(seed);
    const Parsed parsed = Parse(Damaged(whole, random), "rank0.json");
    if (!parsed.result.status.ok()) {
      EXPECT_EQ(parsed.result.status.code(), absl::StatusCode::kDataLoss);
    }
    EXPECT_LE(parsed.trace().operations.size(), parsed.result.records) << seed;
    EXPECT_LE(parsed.trace().ranks.size(), 1u) << seed;
    kept += parsed.result.records;
    for (const TraceOperation& operation : parsed.trace().operations) {
      EXPECT_TRUE(operation.enqueue_ns <= operation.start_ns && operation.start_ns <= operation.end_ns) << seed;
    }
  }
  EXPECT_GT(kept, 1'000u);
}

// Two ranks of a job of random shape: what was put in comes out, whatever the order of events.
TEST(KinetoOrderTest, TheOrderOfEventsLeavesNoMark) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    std::vector<std::string> events;
    std::vector<int64_t> starts;
    int64_t time = 100;
    for (uint64_t n = 1 + random.Below(20); n > 0; --n) {
      time += 20 + static_cast<int64_t>(random.Below(1000));
      events.push_back(Kernel(time));
      if (random.Below(2) == 0) events.push_back(Launch(time - 15, time));
      starts.push_back(time * 1000);
    }
    Shuffle(random, &events);
    const Parsed parsed = Parse(TraceText(events));
    ASSERT_EQ(parsed.trace().operations.size(), starts.size());
    for (size_t i = 0; i < starts.size(); ++i) {
      EXPECT_EQ(parsed.trace().operations[i].start_ns, starts[i]);
      EXPECT_EQ(parsed.trace().operations[i].sequence, i);
    }
  }
}

}  // namespace
}  // namespace lockstep
