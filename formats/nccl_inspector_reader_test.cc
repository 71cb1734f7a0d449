// NCCL Inspector's objects: times, identities and the ranks of the job.

#include "formats/nccl_inspector_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "formats/evidence_builder.h"
#include "formats/read_result.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What may be changed of a record; the values are JSON, and an empty one leaves the key out.
struct Record {
  std::string id = "\"0x7f\"", rank = "2", n_ranks = "8";
  std::string timestamp_us = "2000000", hostname = "\"h\"", pid = "12";
  std::string coll = "\"AllReduce\"", sequence = "5", bytes = "64", micros = "100";
  std::string source, moments;  // coll_timing_source, event_trace_ts
};

std::string ObjectOf(const std::vector<std::pair<const char*, std::string>>& members) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : members) {
    if (!value.empty()) texts.push_back(absl::StrCat("\"", key, "\": ", value));
  }
  return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
}

std::string TextOf(const Record& record) {
  return ObjectOf({{"header", ObjectOf({{"id", record.id}, {"rank", record.rank}, {"n_ranks", record.n_ranks}})},
                   {"metadata", ObjectOf({{"dump_timestamp_us", record.timestamp_us},
                                          {"hostname", record.hostname},
                                          {"pid", record.pid}})},
                   {"coll_perf", ObjectOf({{"coll", record.coll},
                                           {"coll_sn", record.sequence},
                                           {"coll_msg_size_bytes", record.bytes},
                                           {"coll_exec_time_us", record.micros},
                                           {"coll_timing_source", record.source},
                                           {"event_trace_ts", record.moments}})}}) +
         "\n";
}

struct Parsed {
  ReadResult result;
  std::vector<JobInput> jobs;
  const Trace& trace() const { return jobs.at(0).evidence.trace; }
};

Parsed Parse(const std::string& text) {
  EvidenceBuilder builder;
  NcclInspectorReader reader(builder);
  Parsed parsed;
  parsed.result = reader.Read(*SourceOf(text), builder.Job("j"));
  reader.Finish();
  parsed.jobs = builder.Finish();
  return parsed;
}

TEST(InspectorRecordTest, TimesAreThoseOfTheTraceOrOfTheDump) {
  const struct {
    const char* name;
    const char* moments;
    int64_t enqueue_ns, start_ns, end_ns;
  } cases[] = {
      {"no trace: over when it was dumped", "", 1'999'900'000, 1'999'900'000, 2'000'000'000},
      {"a call alone", R"({"coll_start_ts": 1999000})", 1'999'000'000, 1'999'900'000, 2'000'000'000},
      {"a call after the start", R"({"coll_start_ts": 1999950})", 1'999'900'000, 1'999'900'000, 2'000'000'000},
      {"the first kernel",
       R"({"coll_start_ts": 100, "kernel_events": [{"kernel_start_ts": 300}, {"kernel_start_ts": 200}]})", 100'000,
       200'000, 300'000},
      {"kernels without a time", R"({"kernel_events": [{"kernel_start_ts": 0}, {}, 7]})", 1'999'900'000, 1'999'900'000,
       2'000'000'000},
      {"moments of another kind", R"([1, 2])", 1'999'900'000, 1'999'900'000, 2'000'000'000},
  };
  for (const auto& expected : cases) {
    Record record;
    record.moments = expected.moments;
    const Parsed parsed = Parse(TextOf(record));
    EXPECT_OK(parsed.result.status);
    const TraceOperation& operation = parsed.trace().operations.at(0);
    EXPECT_EQ(operation.enqueue_ns, expected.enqueue_ns) << expected.name;
    EXPECT_EQ(operation.start_ns, expected.start_ns) << expected.name;
    EXPECT_EQ(operation.end_ns, expected.end_ns) << expected.name;
  }
}

TEST(InspectorRecordTest, WithoutADurationItWasInFlightAsFarAsTheTraceTells) {
  const struct {
    const char* name;
    const char* moments;
    int64_t enqueue_ns, start_ns;
  } cases[] = {
      {"called", R"({"coll_start_ts": 1999000, "kernel_events": []})", 1'999'000'000, kNoTime},
      {"begun",
       R"({"coll_start_ts": 1999000, "kernel_events": [{"kernel_start_ts": 1999700}, {"kernel_start_ts": 1999600}]})",
       1'999'000'000, 1'999'600'000},
      {"begun, the call unknown", R"({"kernel_events": [{"kernel_start_ts": 1999600}]})", 1'999'600'000, 1'999'600'000},
  };
  for (const auto& expected : cases) {
    Record record;
    record.micros = "";
    record.moments = expected.moments;
    const Parsed parsed = Parse(TextOf(record));
    EXPECT_OK(parsed.result.status);
    const TraceOperation& operation = parsed.trace().operations.at(0);
    EXPECT_EQ(operation.enqueue_ns, expected.enqueue_ns) << expected.name;
    EXPECT_EQ(operation.start_ns, expected.start_ns) << expected.name;
    EXPECT_FALSE(operation.finished()) << expected.name;
  }
}

TEST(InspectorRecordTest, TheSourceOfTheTimesSaysHowGoodTheyAre) {
  const std::pair<const char*, TimingQuality> cases[] = {{"\"kernel_gpu\"", TimingQuality::kGpuTimer},
                                                         {"\"kernel_cpu\"", TimingQuality::kKernelWindow},
                                                         {"\"collective_cpu\"", TimingQuality::kHostCall},
                                                         {"\"new_one\"", TimingQuality::kUnknown},
                                                         {"7", TimingQuality::kUnknown},
                                                         {"", TimingQuality::kUnknown}};
  for (const auto& [source, quality] : cases) {
    Record record;
    record.source = source;
    EXPECT_EQ(Parse(TextOf(record)).trace().operations.at(0).quality, quality) << source;
  }
}

TEST(InspectorRecordTest, EveryFieldArrives) {
  Record record;
  record.id = "\"0xabc\"";
  record.rank = "3";
  record.n_ranks = "4";
  record.coll = "\"ReduceScatter\"";
  record.sequence = "17";
  record.bytes = "4294967296";
  record.pid = "4321";
  record.hostname = "\"node-1\"";
  const Parsed parsed = Parse(TextOf(record));
  EXPECT_OK(parsed.result.status);
  const Trace& trace = parsed.trace();
  EXPECT_THAT(trace.hosts, ElementsAre("node-1"));
  EXPECT_EQ(trace.ranks.at(0).rank, 3);
  EXPECT_EQ(trace.ranks.at(0).pid, 4321);
  EXPECT_EQ(trace.communicators.at(0).name, "0xabc");
  EXPECT_THAT(trace.communicators.at(0).members, ElementsAre(-1, -1, -1, 0));
  EXPECT_EQ(trace.operations.at(0).kind, OperationKind::kReduceScatter);
  EXPECT_EQ(trace.operations.at(0).sequence, 17u);
  EXPECT_EQ(trace.operations.at(0).bytes, 4294967296u);
  EXPECT_THAT(trace.missing_ranks, ElementsAre(0, 1, 2));
}

TEST(InspectorRecordTest, ARecordThatLacksSomethingIsNamedByItsByteAndTheOthersAreRead) {
  const std::pair<const char*, void (*)(Record&)> cases[] = {
      {"no rank", [](Record& record) { record.rank = ""; }},
      {"a rank outside", [](Record& record) { record.rank = "8"; }},
      {"a rank below zero", [](Record& record) { record.rank = "-1"; }},
      {"no size", [](Record& record) { record.n_ranks = ""; }},
      {"a size beyond the limit", [](Record& record) { record.n_ranks = "1048577"; }},
      {"no number", [](Record& record) { record.sequence = ""; }},
      {"a number below zero", [](Record& record) { record.sequence = "-3"; }},
      {"no duration", [](Record& record) { record.micros = ""; }},
      {"a duration below zero", [](Record& record) { record.micros = "-1"; }},
      {"an endless duration", [](Record& record) { record.micros = "9000000000000000000"; }},
      {"no time", [](Record& record) { record.timestamp_us = ""; }},
      {"the time zero", [](Record& record) { record.timestamp_us = "0"; }},
      {"a time in a far future", [](Record& record) { record.timestamp_us = "9000000000000000000"; }},
  };
  Record good, other;
  other.sequence = "6";
  for (const auto& [name, damage] : cases) {
    Record record;
    damage(record);
    const Parsed parsed = Parse(TextOf(good) + TextOf(record) + TextOf(other));
    EXPECT_THAT(parsed.result.status,
                StatusIs(absl::StatusCode::kDataLoss,
                         absl::StrCat("byte ", TextOf(good).size() - 1,
                                      ": expected a record with header, metadata and coll_perf, found another")))
        << name;
    EXPECT_EQ(parsed.result.records, 2u) << name;
    EXPECT_EQ(parsed.result.malformed, 1u) << name;
    EXPECT_EQ(parsed.trace().operations.size(), 2u) << name;
    EXPECT_EQ(parsed.trace().lost_records, 1u) << name;
  }
}

TEST(InspectorFileTest, ObjectsMayStandInAnyLayout) {
  Record a, b;
  b.sequence = "6";
  std::string indented = TextOf(a);
  for (size_t at = 0; (at = indented.find(", ", at)) != std::string::npos; at += 3) indented.replace(at, 2, ",\r\n\t");
  for (const std::string& text :
       {TextOf(a) + TextOf(b), indented + "\n\n" + TextOf(b), TextOf(a) + " " + TextOf(b) + " \n"}) {
    const Parsed parsed = Parse(text);
    EXPECT_OK(parsed.result.status) << text;
    EXPECT_EQ(parsed.trace().operations.size(), 2u) << text;
  }
  EXPECT_OK(Parse("").result.status);
  EXPECT_OK(Parse(" \n ").result.status);
}

TEST(InspectorFileTest, WhatPrecedesACutIsRead) {
  Record a, b;
  b.sequence = "6";
  const std::string whole = TextOf(a) + TextOf(b);
  for (size_t size = TextOf(a).size() + 1; size < whole.size() - 1; ++size) {
    const Parsed parsed = Parse(whole.substr(0, size));
    EXPECT_THAT(parsed.result.status,
                StatusIs(absl::StatusCode::kDataLoss,
                         absl::StrCat("byte ", TextOf(a).size(),
                                      ": expected the rest of a value, found the end of the data, after 1 records")));
    EXPECT_EQ(parsed.trace().operations.size(), 1u) << size;
  }
}

TEST(InspectorFileTest, TheNewestDumpOfARankIsWhenItWasLookedAt) {
  Record early, late, other;
  early.timestamp_us = "2000000";
  late.timestamp_us = "3000000";
  late.sequence = "6";
  other.timestamp_us = "2500000";
  other.rank = "3";
  other.hostname = "\"g\"";
  for (const std::string& text :
       {TextOf(early) + TextOf(late) + TextOf(other), TextOf(other) + TextOf(late) + TextOf(early)}) {
    const Trace trace = Parse(text).trace();
    ASSERT_EQ(trace.ranks.size(), 2u);
    EXPECT_EQ(trace.ranks[0].last_seen_ns, 3'000'000'000);
    EXPECT_EQ(trace.ranks[1].last_seen_ns, 2'500'000'000);
  }
}

TEST(InspectorFileTest, WhatWasInFlightInOneDumpAndEndedInTheNextHasEnded) {
  Record open, ended, next;
  open.moments = R"({"coll_start_ts": 1999000})";
  open.micros = "";
  ended.moments = R"({"coll_start_ts": 1999001})";
  ended.timestamp_us = "3000000";
  next = open;
  next.sequence = "6";
  next.timestamp_us = "3000000";
  for (const std::string& text :
       {TextOf(open) + TextOf(ended) + TextOf(next), TextOf(next) + TextOf(ended) + TextOf(open)}) {
    const Trace trace = Parse(text).trace();
    ASSERT_EQ(trace.operations.size(), 2u) << text;
    size_t in_flight = 0;
    for (const TraceOperation& operation : trace.operations) {
      EXPECT_EQ(operation.finished(), operation.sequence == 5) << text;
      in_flight += operation.finished() ? 0 : 1;
    }
    EXPECT_EQ(in_flight, 1u) << text;
    EXPECT_EQ(trace.ranks.at(0).last_seen_ns, 3'000'000'000) << text;
  }
}

// A machine that lost power leaves blocks of zeros where its file system had promised data.
TEST(InspectorFileTest, ZerosInTheMiddleAreDamageAndNotTheEnd) {
  Record a, b;
  b.sequence = "6";
  const Parsed parsed = Parse(TextOf(a) + std::string(4096, '\0') + TextOf(b));
  EXPECT_THAT(parsed.result.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected JSON: ")));
  EXPECT_EQ(parsed.result.malformed, 1u);
  EXPECT_EQ(parsed.trace().operations.size(), 2u);
}

TEST(InspectorFileTest, ADamagedLineCostsNoOther) {
  Record record;
  const std::string good = TextOf(record);
  record.sequence = "6";
  const std::string other = TextOf(record);
  const std::string damaged[] = {good.substr(0, 70) + "\n", good.substr(0, good.find("\"header")) + "\n",
                                 good.substr(0, good.size() - 3) + "}}}\n", "half of what was writ\n"};
  for (const std::string& line : damaged) {
    const Parsed parsed = Parse(good + line + other);
    EXPECT_THAT(parsed.result.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("byte "))) << line;
    EXPECT_EQ(parsed.trace().operations.size(), 2u) << line;
    EXPECT_GE(parsed.result.malformed, 1u) << line;
  }
}

TEST(InspectorFileTest, TransfersAreLeftOutAndSaidToBe) {
  const Record record;
  std::string transfer = TextOf(record);
  transfer.replace(transfer.find("coll_perf"), 9, "p2p_perf");
  const Parsed parsed = Parse(transfer + TextOf(record) + transfer);
  EXPECT_OK(parsed.result.status);
  EXPECT_EQ(parsed.trace().operations.size(), 1u);
  EXPECT_THAT(parsed.jobs[0].notes, ElementsAre(HasSubstr("p2p_perf")));
}

TEST(InspectorFileTest, AFileOfOtherObjectsIsGivenUp) {
  std::string text;
  for (int i = 0; i < 1'500; ++i) text += "{\"a\": 1}\n";
  const Parsed parsed = Parse(text + TextOf(Record()));
  EXPECT_EQ(parsed.result.malformed, 1'000u);
  EXPECT_EQ(parsed.result.records, 0u);
}

// NCCL counts the calls of each function of a communicator.
TEST(InspectorNumberTest, FunctionsThatAreCountedEachForItselfGetOneCount) {
  Record gather, reduce, next;
  gather.coll = next.coll = "\"AllGather\"";
  reduce.coll = "\"ReduceScatter\"";
  next.sequence = "6";
  reduce.timestamp_us = "3000000";
  next.timestamp_us = "4000000";
  const Parsed parsed = Parse(TextOf(gather) + TextOf(reduce) + TextOf(next));
  std::vector<uint64_t> numbers;
  for (const TraceOperation& operation : parsed.trace().operations) numbers.push_back(operation.sequence);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2));
}

// A process of a job whose world has `world` ranks and whose tensor groups have `tensor`.
std::string ProcessText(const std::string& host, int pid, int rank, int world, int tensor) {
  Record of_world, of_group;
  of_world.hostname = of_group.hostname = absl::StrCat("\"", host, "\"");
  of_world.pid = of_group.pid = absl::StrCat(pid);
  of_world.rank = absl::StrCat(rank);
  of_world.n_ranks = absl::StrCat(world);
  of_group.id = absl::StrCat("\"tp", rank / tensor, "\"");
  of_group.rank = absl::StrCat(rank % tensor);
  of_group.n_ranks = absl::StrCat(tensor);
  return TextOf(of_group) + (world > 0 ? TextOf(of_world) : "");
}

std::vector<int32_t> RanksOf(const Trace& trace) {
  std::vector<int32_t> ranks;
  for (const TraceRank& rank : trace.ranks) ranks.push_back(rank.rank);
  return ranks;
}

TEST(InspectorRankTest, TheRankIsThatInTheLargestCommunicator) {
  std::string text;
  for (int rank : {3, 0, 2, 1}) text += ProcessText(absl::StrCat("h", rank / 2), 100 + rank, rank, 4, 2);
  const Parsed parsed = Parse(text);
  EXPECT_THAT(RanksOf(parsed.trace()), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(parsed.trace().ranks[3].pid, 103);
  EXPECT_TRUE(parsed.jobs[0].notes.empty());
}

TEST(InspectorRankTest, WithoutAWorldProcessesAreNumberedByHostAndProcessId) {
  std::string text;
  for (int rank : {3, 0, 2, 1}) text += ProcessText(absl::StrCat("h", rank / 2), 100 + rank, rank, /*world=*/0, 2);
  const Parsed parsed = Parse(text);
  EXPECT_THAT(RanksOf(parsed.trace()), ElementsAre(0, 1, 2, 3));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(parsed.trace().ranks[i].pid, 100 + static_cast<int32_t>(i));
  EXPECT_THAT(parsed.jobs[0].notes, ElementsAre(HasSubstr("processes are numbered by host and process id")));
}

TEST(InspectorRankTest, JobsNumberTheirRanksEachForItself) {
  EvidenceBuilder builder;
  NcclInspectorReader reader(builder);
  for (const char* job : {"a", "b"}) {
    for (int rank : {1, 0}) {
      EXPECT_OK(reader.Read(*SourceOf(ProcessText("h", 100 + rank, rank, 2, 1)), builder.Job(job)).status);
    }
  }
  // A third one whose processes cannot be told from each other by their ranks.
  EXPECT_OK(
      reader.Read(*SourceOf(ProcessText("h", 7, 0, 0, 2) + ProcessText("h", 8, 2, 0, 2)), builder.Job("c")).status);
  reader.Finish();
  const std::vector<JobInput> jobs = builder.Finish();
  ASSERT_EQ(jobs.size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(RanksOf(jobs[i].evidence.trace), ElementsAre(0, 1)) << i;
    EXPECT_EQ(jobs[i].evidence.trace.ranks[1].pid, 101) << i;
    EXPECT_TRUE(jobs[i].notes.empty()) << i;
  }
  EXPECT_THAT(RanksOf(jobs[2].evidence.trace), ElementsAre(0, 1));
  EXPECT_EQ(jobs[2].notes.size(), 1u);
}

TEST(InspectorDamageTest, WhateverTheBytesRecordsAddUp) {
  std::string whole;
  for (int rank = 0; rank < 4; ++rank) whole += ProcessText(absl::StrCat("h", rank / 2), rank, rank, 4, 2);
  uint64_t kept = 0;
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    Random random(seed);
    const Parsed parsed = Parse(Damaged(whole, random));
    if (!parsed.result.status.ok()) {
      EXPECT_EQ(parsed.result.status.code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(parsed.result.status.message(), HasSubstr("byte "));
    } else {
      EXPECT_EQ(parsed.result.malformed, 0u);
    }
    EXPECT_GE(parsed.trace().lost_records, parsed.result.malformed) << seed;
    EXPECT_LE(parsed.trace().operations.size(), parsed.result.records) << seed;
    kept += parsed.result.records;
    for (const TraceOperation& operation : parsed.trace().operations) {
      EXPECT_TRUE(operation.finished() && operation.enqueue_ns <= operation.start_ns &&
                  operation.start_ns <= operation.end_ns)
          << seed;
    }
  }
  EXPECT_GT(kept, 4'000u) << "one record that is damaged costs few others";
}

}  // namespace
}  // namespace lockstep
