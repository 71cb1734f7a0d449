// Flight Recorder, Kineto and NCCL Inspector, on texts of our own and on public data where it lies beside the tree.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "detector/engine/diagnosis.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/flight_recorder_reader.h"
#include "formats/kineto_reader.h"
#include "formats/nccl_inspector_reader.h"
#include "formats/pickle.h"
#include "formats/process_group.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ByteSource> Source(const std::string& bytes) {
  return *ByteSource::FromStream(std::make_unique<std::istringstream>(bytes));
}

// The public data beside the repository; empty when it is not there.
std::filesystem::path SharedData() {
  for (std::filesystem::path folder = std::filesystem::canonical("formats/dump_formats_test.cc").parent_path();
       folder.has_relative_path(); folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "shared/data")) return folder / "shared/data";
  }
  return "";
}

constexpr char kDump[] =
    R"({"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
 "entries": [
 {"process_group": ["0", "default_pg"], "collective_seq_id": 4, "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce",
  "time_created_ns": 1000, "input_sizes": [[4, 2]], "input_dtypes": ["BFloat16"], "state": "completed",
  "time_discovered_started_ns": 1500, "time_discovered_completed_ns": 2000, "retired": true},
 {"process_group": ["0", "default_pg"], "collective_seq_id": 4, "p2p_seq_id": 9, "profiling_name": "nccl:recv 1<-0",
  "time_created_ns": 3000, "input_sizes": [[4]], "input_dtypes": ["Float"], "state": "scheduled", "retired": false}]})";

TEST(FlightRecorderTest, ReadsCollectivesAndTransfers) {
  EvidenceBuilder builder;
  FlightRecorderReader reader(builder);
  EXPECT_OK(reader.Read("dir/rank1.json", *Source(kDump), builder.Job("j")).status);
  reader.Finish();
  const Trace trace = builder.Finish()[0].evidence.trace;
  ASSERT_EQ(trace.operations.size(), 2u);
  EXPECT_EQ(trace.operations[0].kind, OperationKind::kAllReduce);
  EXPECT_EQ(trace.operations[0].bytes, 16u);
  EXPECT_EQ(trace.operations[0].duration_ns(), 500);
  EXPECT_EQ(trace.operations[1].kind, OperationKind::kRecv);
  EXPECT_EQ(trace.operations[1].peer, 0);
  EXPECT_EQ(trace.operations[1].sequence, 9u);
  EXPECT_FALSE(trace.operations[1].finished());
  EXPECT_EQ(trace.communicators[0].name, "0[0,1,2]");
  EXPECT_EQ(trace.communicators[0].hint, "default_pg");
  EXPECT_EQ(trace.communicators[0].members, (std::vector<int32_t>{-1, 0, -1}));
  EXPECT_EQ(trace.missing_ranks, (std::vector<int32_t>{0, 2}));
}

TEST(FlightRecorderTest, WantsARank) {
  EvidenceBuilder builder;
  FlightRecorderReader reader(builder);
  EXPECT_THAT(reader.Read("dump.json", *Source(kDump), builder.Job("j")).status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected a rank")));
}

TEST(FlightRecorderTest, PickleAndJsonOfPublicDumpsAgree) {
  const std::filesystem::path data = SharedData();
  if (data.empty()) GTEST_SKIP() << "no public data beside the repository";
  for (int rank = 0; rank < 16; ++rank) {
    std::vector<Trace> traces;
    for (const std::string& name : {"_dump_" + std::to_string(rank), "rank" + std::to_string(rank) + ".json"}) {
      const std::filesystem::path path = data / "flight_recorder/gpu_error_2nd" / name;
      EvidenceBuilder builder;
      FlightRecorderReader reader(builder);
      const auto source = *ByteSource::Open(path);
      EXPECT_OK(reader.Read(path.string(), *source, builder.Job("j")).status);
      reader.Finish();
      traces.push_back(builder.Finish()[0].evidence.trace);
    }
    EXPECT_GE(traces[0].operations.size(), 11u);
    ASSERT_EQ(traces[0].operations.size(), traces[1].operations.size());
    EXPECT_EQ(traces[0].ranks[0].rank, rank);
    EXPECT_EQ(traces[0].missing_ranks.size(), 15u);
    for (size_t i = 0; i < traces[0].operations.size(); ++i) {
      EXPECT_EQ(traces[0].operations[i].enqueue_ns, traces[1].operations[i].enqueue_ns);
      EXPECT_EQ(traces[0].operations[i].sequence, traces[1].operations[i].sequence);
    }
  }
}

TEST(FlightRecorderTest, TheRanksThatHangInThePublicDumpsAreNamed) {
  const std::filesystem::path data = SharedData();
  if (data.empty()) GTEST_SKIP() << "no public data beside the repository";
  EvidenceBuilder builder;
  FlightRecorderReader reader(builder);
  for (int rank = 0; rank < 16; ++rank) {
    const std::filesystem::path path =
        data / "flight_recorder/gpu_error_2nd" / ("rank" + std::to_string(rank) + ".json");
    const auto source = *ByteSource::Open(path);
    EXPECT_OK(reader.Read(path.string(), *source, builder.Job("j")).status);
  }
  reader.Finish();
  const JobReport report = Diagnose(builder.Finish()[0].evidence, DiagnosisOptions{});
  EXPECT_EQ(report.state, JobState::kHung);
  // The faults that were injected: GPU errors on these two.
  ASSERT_EQ(report.verdicts.size(), 1u);
  ASSERT_EQ(report.verdicts[0].culprits.size(), 2u);
  EXPECT_EQ(report.verdicts[0].culprits[0].rank, 9);
  EXPECT_EQ(report.verdicts[0].culprits[1].rank, 14);
}

TEST(PickleTest, RefusesWhatReachesForCode) {
  EXPECT_THAT(
      ParsePickle("\x80\x02"
                  "cos\nsystem\n(X\x02\x00"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("byte 2: expected plain data, found the opcode GLOBAL")));
  EXPECT_THAT(ParsePickle("\x80\x02)R."), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("REDUCE")));
  EXPECT_THAT(ParsePickle("\x80\x02\xff."), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0xff")));
  EXPECT_THAT(ParsePickle("\x80\x02}"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("found the end")));
}

TEST(PickleTest, ReadsPlainData) {
  // {"a": [1, -2, None, True, 0.5, (3, 4)]}
  const std::string bytes(
      "\x80\x02}q\x00X\x01\x00\x00\x00"
      "a]q\x01(K\x01J\xfe\xff\xff\xffN\x88G\x3f\xe0\x00\x00\x00\x00\x00\x00K\x03K\x04\x86"
      "es.",
      41);
  const absl::StatusOr<PlainDocument> document = ParsePickle(bytes);
  ASSERT_OK(document);
  const PlainNode& list = document->Find(document->node(document->root), "a");
  ASSERT_EQ(list.items.size(), 6u);
  EXPECT_EQ(IntegerOr(document->node(list.items[1]), 0), -2);
  EXPECT_EQ(document->node(list.items[2]).kind, PlainNode::Kind::kNone);
  EXPECT_EQ(RealOr(document->node(list.items[4]), 0), 0.5);
  EXPECT_EQ(document->node(list.items[5]).items.size(), 2u);
}

std::string KernelEvent(int64_t micros, const std::string& arguments) {
  return R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ts": )" +
         std::to_string(micros) + R"(.25, "dur": 10.5, "args": {"device": 3, "stream": 7, "correlation": 42)" +
         arguments + "}}";
}

constexpr char kGroup[] =
    R"(, "Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "In msg nelems": 8, "dtype": "Float")";

std::string KinetoTrace(const std::string& events) {
  return R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}, "traceEvents": [)" +
         events + R"(], "baseTimeNanoseconds": 1000000})";
}

TEST(KinetoTest, ReadsKernelsWithTheirLaunchAndGroup) {
  const std::string launch =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "ts": 90, "dur": 2, "args": {"correlation": 42}})";
  EvidenceBuilder builder;
  const auto source = Source(KinetoTrace(KernelEvent(100, kGroup) + ", " + launch + ",\n" + KernelEvent(200, kGroup)));
  EXPECT_OK(ReadKineto("node7_123.1700000000.pt.trace.json", *source, builder.Job("j"), builder).status);
  const Trace trace = builder.Finish()[0].evidence.trace;
  ASSERT_EQ(trace.operations.size(), 2u);
  EXPECT_EQ(trace.hosts, std::vector<std::string>{"node7"});
  EXPECT_EQ(trace.ranks[0].rank, 1);
  EXPECT_EQ(trace.ranks[0].gpu, 3);
  EXPECT_EQ(trace.operations[0].enqueue_ns, 1'090'000);
  EXPECT_EQ(trace.operations[0].start_ns, 1'100'250);
  EXPECT_EQ(trace.operations[0].duration_ns(), 10'500);
  EXPECT_EQ(trace.operations[0].bytes, 32u);
  EXPECT_EQ(trace.operations[1].sequence, 1u);
  EXPECT_EQ(trace.communicators[0].members, (std::vector<int32_t>{-1, 0}));
  EXPECT_EQ(trace.missing_ranks, std::vector<int32_t>{0});
}

TEST(KinetoTest, KeepsWhatPrecedesACut) {
  const std::string whole = KinetoTrace(KernelEvent(100, kGroup) + ", " + KernelEvent(200, kGroup));
  EvidenceBuilder builder;
  const auto source = Source(whole.substr(0, whole.size() - 60));
  EXPECT_THAT(ReadKineto("x.json", *source, builder.Job("j"), builder).status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected the rest of a value, found the end")));
  EXPECT_EQ(builder.Finish()[0].evidence.trace.operations.size(), 1u);
}

TEST(KinetoTest, ComparesNobodyWithoutProcessGroups) {
  EvidenceBuilder builder;
  const JobIndex job = builder.Job("j");
  for (int rank = 0; rank < 2; ++rank) {
    const auto source = Source("[" + KernelEvent(100, "") + "]");
    EXPECT_OK(ReadKineto("rank_" + std::to_string(rank) + ".json", *source, job, builder).status);
  }
  const JobInput input = std::move(builder.Finish()[0]);
  EXPECT_EQ(input.evidence.trace.communicators.size(), 2u);
  ASSERT_EQ(input.notes.size(), 1u);
  EXPECT_THAT(input.notes[0], HasSubstr("Process Group Name"));
}

TEST(KinetoTest, ReadsPublicTraces) {
  const std::filesystem::path data = SharedData();
  if (data.empty()) GTEST_SKIP() << "no public data beside the repository";
  struct Case {
    const char* file;
    bool readable;
    size_t kernels;
  };
  for (const Case& expected :
       {Case{"nccl_parser_config__nccl_data.json.gz", true, 21}, Case{"trace_filter__sampled_rank-1.json.gz", true, 10},
        Case{"rank_unavailable__rank_not_found.json.gz", false, 0}}) {
    const std::filesystem::path path = data / "kineto" / expected.file;
    EvidenceBuilder builder;
    const auto source = *ByteSource::Open(path);
    const ReadResult result = ReadKineto(path.string(), *source, builder.Job("j"), builder);
    EXPECT_EQ(result.status.ok(), expected.readable) << expected.file << " " << result.status;
    EXPECT_EQ(result.records, expected.kernels) << expected.file;
  }
}

constexpr char kInspector[] = R"({"header": {"id": "0x7f", "rank": 2, "n_ranks": 8, "nnodes": 1},
 "metadata": {"dump_timestamp_us": 2000000, "hostname": "h", "pid": 12},
 "coll_perf": {"coll": "AllReduce", "coll_sn": 5, "coll_msg_size_bytes": 64, "coll_exec_time_us": 100}}
)";

TEST(NcclInspectorTest, ReadsObjectsOneAfterTheOther) {
  EvidenceBuilder builder;
  NcclInspectorReader reader(builder);
  const ReadResult result = reader.Read(*Source(std::string(kInspector) + kInspector + "{\"a\": 1}"), builder.Job("j"));
  EXPECT_EQ(result.records, 2u);
  EXPECT_EQ(result.malformed, 1u);
  EXPECT_THAT(result.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected a record with header")));
  reader.Finish();
  const Trace trace = builder.Finish()[0].evidence.trace;
  ASSERT_EQ(trace.operations.size(), 1u);  // the second is the first again
  EXPECT_EQ(trace.ranks[0].rank, 2);
  EXPECT_EQ(trace.operations[0].end_ns, 2'000'000'000);
  EXPECT_EQ(trace.operations[0].duration_ns(), 100'000);
  EXPECT_EQ(trace.communicators[0].members.size(), 8u);
}

TEST(ProcessGroupTest, ListsAreWholeOrNothing) {
  EXPECT_EQ(ParseRankList("[0, 8]"), (std::vector<int32_t>{0, 8}));
  EXPECT_TRUE(ParseRankList("[0, 1, ...]").empty());
  EXPECT_TRUE(ParseRankList("0, 1").empty());
  EXPECT_EQ(StridedRanks(1, 4, 3), (std::vector<int32_t>{1, 5, 9}));
  EXPECT_TRUE(StridedRanks(0, 1, int64_t{1} << 40).empty());
}

// Bytes are cut, changed and repeated: whatever comes of it, the readers return.
TEST(DumpFormatsTest, SurviveDamage) {
  const std::string pickle(
      "\x80\x02}q\x00X\x07\x00\x00\x00"
      "entries]q\x01(}q\x02X\x05\x00\x00\x00state"
      "K\x01"
      "s}h\x02h\x02s"
      "es.",
      46);
  const std::vector<std::string> originals = {kDump, KinetoTrace(KernelEvent(100, kGroup) + "," + KernelEvent(200, "")),
                                              kInspector, pickle};
  Random random(11);
  for (int round = 0; round < 600; ++round) {
    std::string bytes = originals[random.Below(originals.size())];
    for (uint64_t edits = 1 + random.Below(4); edits > 0; --edits) {
      const size_t at = random.Below(bytes.size());
      const size_t length = random.Below(16);
      if (random.Below(3) == 0) bytes.insert(at, bytes.substr(random.Below(bytes.size()), length));
      if (random.Below(3) == 0) bytes.erase(at, length);
      if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
      if (bytes.empty()) bytes = "{";
    }
    EvidenceBuilder builder;
    const JobIndex job = builder.Job("j");
    FlightRecorderReader dumps(builder);
    NcclInspectorReader inspector(builder);
    dumps.Read("rank0", *Source(bytes), job);
    inspector.Read(*Source(bytes), job);
    ReadKineto("rank1", *Source(bytes), job, builder);
    dumps.Finish();
    inspector.Finish();
    EXPECT_LE(builder.Finish()[0].evidence.trace.ranks.size(), 64u);
  }
}

}  // namespace
}  // namespace lockstep
