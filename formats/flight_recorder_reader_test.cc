// Flight Recorder dumps: ranks, groups, times and transfers, entry by entry.

#include "formats/flight_recorder_reader.h"

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
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// JSON members by key; the values are JSON themselves. An empty one leaves the key out.
using Members = std::map<std::string, std::string>;

std::string ObjectOf(const Members& members) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : members) {
    if (!value.empty()) texts.push_back(absl::StrCat("\"", key, "\": ", value));
  }
  return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
}

// An AllReduce of group "0" that completed, but for `changed`.
std::string Entry(Members changed) {
  const Members ordinary = {{"process_group", R"(["0", "default_pg"])"},
                            {"collective_seq_id", "4"},
                            {"p2p_seq_id", "0"},
                            {"profiling_name", R"("nccl:all_reduce")"},
                            {"time_created_ns", "1000"},
                            {"input_sizes", "[[4, 2]]"},
                            {"input_dtypes", R"(["Float"])"},
                            {"state", R"("completed")"},
                            {"time_discovered_started_ns", "1500"},
                            {"time_discovered_completed_ns", "2000"},
                            {"retired", "true"}};
  changed.insert(ordinary.begin(), ordinary.end());
  return ObjectOf(changed);
}

std::string Dump(const std::vector<std::string>& entries, Members changed = {}) {
  changed.insert({"pg_config", R"({"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}})"});
  changed.insert({"entries", absl::StrCat("[", absl::StrJoin(entries, ", "), "]")});
  return ObjectOf(changed);
}

struct Parsed {
  std::vector<ReadResult> results;
  std::vector<JobInput> jobs;
  const Trace& trace() const { return jobs.at(0).evidence.trace; }
};

// Dumps of one job, by the names of their files.
Parsed Parse(const std::vector<std::pair<std::string, std::string>>& dumps) {
  EvidenceBuilder builder;
  FlightRecorderReader reader(builder);
  Parsed parsed;
  for (const auto& [path, bytes] : dumps)
    parsed.results.push_back(reader.Read(path, *SourceOf(bytes), builder.Job("j")));
  reader.Finish();
  parsed.jobs = builder.Finish();
  return parsed;
}

TraceOperation OnlyOperation(const Members& changed) {
  const Parsed parsed = Parse({{"rank0", Dump({Entry(changed)})}});
  EXPECT_OK(parsed.results[0].status);
  EXPECT_EQ(parsed.trace().operations.size(), 1u);
  return parsed.trace().operations.empty() ? TraceOperation() : parsed.trace().operations[0];
}

// What is timed lies in the middle of what the looks leave open.
TEST(FlightRecorderEntryTest, TimesFollowWhatTheWatchdogSaw) {
  const std::string none;
  const struct {
    const char* name;
    Members changed;
    int64_t start_ns, end_ns;
    TimingQuality quality;
  } cases[] = {
      {"completed", {}, 1500, 2000, TimingQuality::kHostEnqueue},
      {"found begun at one look, over at the next", {{"duration_ms", "0.0002"}}, 1250, 1450, TimingQuality::kGpuTimer},
      {"found begun and over at one look", {{"duration_ms", "0.0007"}}, 1150, 1850, TimingQuality::kGpuTimer},
      {"found over alone",
       {{"duration_ms", "0.0007"}, {"time_discovered_started_ns", "null"}},
       1150,
       1850,
       TimingQuality::kGpuTimer},
      {"never found over",
       {{"duration_ms", "0.0007"}, {"time_discovered_completed_ns", "null"}},
       1250,
       1950,
       TimingQuality::kGpuTimer},
      {"longer than since the call", {{"duration_ms", "0.25"}}, 1000, 251'000, TimingQuality::kGpuTimer},
      {"a duration of nothing", {{"duration_ms", "0"}}, 1500, 2000, TimingQuality::kHostEnqueue},
      {"an impossible duration", {{"duration_ms", "1e300"}}, 1500, 2000, TimingQuality::kHostEnqueue},
      {"started",
       {{"state", R"("started")"}, {"time_discovered_completed_ns", "null"}, {"retired", "false"}},
       1500,
       kNoTime,
       TimingQuality::kHostEnqueue},
      {"a duration of what still runs",
       {{"state", R"("started")"},
        {"time_discovered_completed_ns", "null"},
        {"retired", "false"},
        {"duration_ms", "5"}},
       1500,
       kNoTime,
       TimingQuality::kHostEnqueue},
      {"started, nobody knows when",
       {{"state", R"("started")"},
        {"time_discovered_started_ns", "null"},
        {"time_discovered_completed_ns", none},
        {"retired", "false"}},
       1000,
       kNoTime,
       TimingQuality::kHostEnqueue},
      {"completed, nobody knows when",
       {{"time_discovered_started_ns", "null"}, {"time_discovered_completed_ns", "null"}},
       1000,
       1000,
       TimingQuality::kHostEnqueue},
      {"retired without a state",
       {{"state", none}, {"time_discovered_started_ns", "1500"}, {"time_discovered_completed_ns", none}},
       1500,
       1500,
       TimingQuality::kHostEnqueue},
      {"noticed late: the end before the start",
       {{"time_discovered_started_ns", "2500"}},
       2500,
       2500,
       TimingQuality::kHostEnqueue},
      {"times as reals", {{"time_discovered_started_ns", "1.5e3"}}, 1500, 2000, TimingQuality::kHostEnqueue},
  };
  for (const auto& expected : cases) {
    const TraceOperation operation = OnlyOperation(expected.changed);
    EXPECT_EQ(operation.enqueue_ns, 1000) << expected.name;
    EXPECT_EQ(operation.start_ns, expected.start_ns) << expected.name;
    EXPECT_EQ(operation.end_ns, expected.end_ns) << expected.name;
    EXPECT_EQ(operation.quality, expected.quality) << expected.name;
  }
}

TEST(FlightRecorderEntryTest, ScheduledMeansWaitingOnlyWhereStartsAreRecorded) {
  const Members scheduled = {{"state", R"("scheduled")"},
                             {"time_discovered_started_ns", "null"},
                             {"time_discovered_completed_ns", "null"},
                             {"retired", "false"},
                             {"collective_seq_id", "5"},
                             {"time_created_ns", "3000"}};
  EXPECT_EQ(OnlyOperation(scheduled).start_ns, 3000) << "nothing in the dump says when anything began";
  const Parsed parsed = Parse({{"rank0", Dump({Entry({}), Entry(scheduled)})}});
  ASSERT_EQ(parsed.trace().operations.size(), 2u);
  EXPECT_FALSE(parsed.trace().operations[1].started()) << "the other one's start was recorded";
}

TEST(FlightRecorderEntryTest, BytesAreElementsTimesTheirSize) {
  const struct {
    const char* sizes;
    const char* types;
    uint64_t bytes;
  } cases[] = {
      {"[[4, 2]]", R"(["Float"])", 32},
      {"[[4, 2], [3]]", R"(["Float", "Half"])", 38},
      {"[[4, 2], [3]]", R"(["BFloat16"])", 22},  // one type for all
      {"[[]]", R"(["Double"])", 8},              // a number is a tensor without dimensions
      {"[]", R"(["Float"])", 0},
      {"[[4]]", "[]", 0},
      {"[[4]]", R"(["Quaternion"])", 0},
      {"[[0, 7]]", R"(["Float"])", 0},
      {"[[-4]]", R"(["Float"])", 0},
      {"[[1000000000, 1000000000, 1000000000]]", R"(["Float"])", 0},  // more than there is
      {"7", R"(["Float"])", 0},
      {"[7]", R"(["Float"])", 0},
      {"null", "null", 0},
  };
  for (const auto& [sizes, types, bytes] : cases) {
    EXPECT_EQ(OnlyOperation({{"input_sizes", sizes}, {"input_dtypes", types}}).bytes, bytes) << sizes << types;
  }
}

TEST(FlightRecorderEntryTest, NamesSayTheOperationAndItsPeer) {
  const struct {
    const char* name;
    OperationKind kind;
    int32_t peer;
  } cases[] = {
      {"nccl:all_reduce", OperationKind::kAllReduce, -1},
      {"nccl:_all_gather_base", OperationKind::kAllGather, -1},
      {"nccl:_reduce_scatter_base", OperationKind::kReduceScatter, -1},
      {"nccl:all_to_all", OperationKind::kAllToAll, -1},
      {"nccl:all_reduce_barrier", OperationKind::kBarrier, -1},
      {"nccl:broadcast", OperationKind::kBroadcast, -1},
      {"nccl:send 0->1", OperationKind::kSend, 1},
      {"nccl:send 0->12", OperationKind::kSend, 12},
      {"nccl:recv 0<-1", OperationKind::kRecv, 1},
      {"nccl:recv 10<-3", OperationKind::kRecv, 3},
      {"nccl:recv", OperationKind::kRecv, -1},
      {"nccl:send 0->", OperationKind::kSend, -1},
      {"nccl:send zero->one", OperationKind::kSend, -1},
      {"gloo:mystery", OperationKind::kUnknown, -1},
      {"", OperationKind::kUnknown, -1},
  };
  for (const auto& [name, kind, peer] : cases) {
    const TraceOperation operation =
        OnlyOperation({{"profiling_name", absl::StrCat("\"", name, "\"")}, {"p2p_seq_id", "9"}});
    EXPECT_EQ(operation.kind, kind) << name;
    EXPECT_EQ(operation.peer, peer) << name;
    const bool transfer = kind == OperationKind::kSend || kind == OperationKind::kRecv;
    EXPECT_EQ(operation.sequence, transfer ? 9u : 4u) << name;
  }
}

TEST(FlightRecorderEntryTest, OldDumpsHaveOneSequenceNumber) {
  EXPECT_EQ(OnlyOperation({{"collective_seq_id", ""}, {"p2p_seq_id", ""}, {"seq_id", "77"}}).sequence, 77u);
}

TEST(FlightRecorderEntryTest, AnEntryThatLacksSomethingIsNamedAndTheOthersAreRead) {
  for (const Members& changed : {Members{{"process_group", ""}},
                                 {{"process_group", "[]"}},
                                 {{"process_group", "\"0\""}},
                                 {{"process_group", R"(["", ""])"}},
                                 {{"collective_seq_id", ""}},
                                 {{"collective_seq_id", "-1"}},
                                 {{"collective_seq_id", "\"4\""}},
                                 {{"time_created_ns", ""}},
                                 {{"time_created_ns", "0"}},
                                 {{"time_created_ns", "-5"}}}) {
    const Parsed parsed = Parse({{"rank0", Dump({Entry({}), Entry(changed), Entry({{"collective_seq_id", "5"}})})}});
    EXPECT_THAT(parsed.results[0].status,
                StatusIs(absl::StatusCode::kDataLoss,
                         "entry 1: expected process_group, profiling_name, a sequence number and time_created_ns, "
                         "found not all"))
        << ObjectOf(changed);
    EXPECT_EQ(parsed.results[0].records, 2u);
    EXPECT_EQ(parsed.results[0].malformed, 1u);
    EXPECT_EQ(parsed.trace().operations.size(), 2u);
    EXPECT_EQ(parsed.trace().lost_records, 1u);
  }
}

TEST(FlightRecorderDumpTest, TheRankIsOfTheDumpOrOfTheNameOfTheFile) {
  const struct {
    const char* path;
    const char* rank;
    int32_t expected;  // -1 = refused
  } cases[] = {
      {"dir7/_dump_14", "", 14},    {"rank12.json", "", 12},      {"rank12.json", "3", 3}, {"dump.json", "0", 0},
      {"dump.json", "", -1},        {"dump.json", "-2", -1},      {"rank5", "\"x\"", 5},   {"rank5", "1048576", -1},
      {"rank1048575", "", 1048575}, {"nccl_trace_rank_8", "", 8}, {"dir.3/dump", "", -1},
  };
  for (const auto& [path, rank, expected] : cases) {
    const Parsed parsed = Parse({{path, Dump({Entry({})}, {{"rank", rank}})}});
    if (expected < 0) {
      EXPECT_THAT(
          parsed.results[0].status,
          StatusIs(absl::StatusCode::kDataLoss, "expected a rank in the dump or in the name of the file, found none"))
          << path;
      EXPECT_TRUE(parsed.trace().operations.empty());
    } else {
      EXPECT_OK(parsed.results[0].status);
      EXPECT_EQ(parsed.trace().ranks.at(0).rank, expected) << path << rank;
    }
  }
}

TEST(FlightRecorderDumpTest, TheHostIsNamedWhereTheDumpNamesIt) {
  EXPECT_THAT(Parse({{"rank0", Dump({Entry({})}, {{"host_name", "\"node-9\""}})}}).trace().hosts,
              ElementsAre("node-9"));
  EXPECT_TRUE(IsStandInHost(Parse({{"rank0", Dump({Entry({})})}}).trace().hosts.at(0)));
}

TEST(FlightRecorderDumpTest, GroupsAreNamedByTheirMembersToo) {
  const std::string groups =
      R"({"0": {"desc": "default_pg", "ranks": "[0, 1, 2, 3]"}, "5": {"desc": "dp", "ranks": [1, 3]},
          "6": {"desc": "tp", "ranks": "[0, 1, ...]"}, "7": {"ranks": [0, -1]}, "8": 3})";
  const Parsed parsed =
      Parse({{"rank1", Dump({Entry({{"process_group", R"(["5", "dp"])"}}),
                             Entry({{"process_group", R"(["6", "tp"])"}, {"time_created_ns", "1001"}}),
                             Entry({{"process_group", R"(["nobody", "?"])"}, {"time_created_ns", "1002"}})},
                            {{"pg_config", groups}})}});
  EXPECT_OK(parsed.results[0].status);
  std::map<std::string, TraceCommunicator> by_name;
  for (const TraceCommunicator& communicator : parsed.trace().communicators) by_name[communicator.name] = communicator;
  EXPECT_EQ(by_name.size(), 4u);
  EXPECT_EQ(by_name["5[1,3]"].hint, "dp");
  EXPECT_THAT(by_name["5[1,3]"].members, ElementsAre(0, -1));
  EXPECT_THAT(by_name["0[0,1,2,3]"].members, ElementsAre(-1, 0, -1, -1));
  EXPECT_EQ(by_name.count("6"), 1u) << "a list that is cut short names no members";
  EXPECT_EQ(by_name.count("nobody"), 1u);
  EXPECT_THAT(parsed.trace().missing_ranks, ElementsAre(0, 2, 3));
}

TEST(FlightRecorderDumpTest, AByteOrderMarkIsPassedOver) {
  const Parsed parsed = Parse({{"rank0", "\xef\xbb\xbf" + Dump({Entry({})})}});
  EXPECT_OK(parsed.results[0].status);
  EXPECT_EQ(parsed.trace().operations.size(), 1u);
}

TEST(FlightRecorderDumpTest, WhatIsNoDumpIsRefused) {
  const struct {
    std::string bytes;
    const char* message;
  } cases[] = {
      {"", "byte 0: expected 1 more bytes, found the end of the data"},
      {"{}", "expected a list 'entries', found none"},
      {"[]", "expected a list 'entries', found none"},
      {R"({"entries": {}})", "expected a list 'entries', found none"},
      {R"({"entries": [)", "expected JSON: "},
      {" \n {\"entries\": 7}", "expected a list 'entries', found none"},
      {"}.", "expected a list 'entries', found none"},  // an empty dict, as a pickle
      {"hello", "byte 0: expected memo entry 101, found none"},
  };
  for (const auto& [bytes, message] : cases) {
    const Parsed parsed = Parse({{"rank0", bytes}});
    EXPECT_THAT(parsed.results[0].status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message))) << bytes;
    EXPECT_EQ(parsed.results[0].records, 0u);
  }
}

// A pipeline of three: the middle rank talks to both neighbours, so that PyTorch's numbers of the two sides differ.
TEST(FlightRecorderTransferTest, BothSidesOfATransferGetOneNumber) {
  const std::string groups = R"({"0": {"desc": "pp", "ranks": "[0, 1, 2]"}})";
  int64_t time = 0;
  const auto transfer = [&time](const char* name, int sequence, bool done) {
    const std::string created = absl::StrCat(++time * 1000);
    return Entry({{"profiling_name", absl::StrCat("\"nccl:", name, "\"")},
                  {"p2p_seq_id", absl::StrCat(sequence)},
                  {"time_created_ns", created},
                  {"state", done ? R"("completed")" : R"("scheduled")"},
                  {"retired", done ? "true" : "false"},
                  {"time_discovered_started_ns", done ? created : "null"},
                  {"time_discovered_completed_ns", done ? created : "null"}});
  };
  // Rank 1's ring of entries is shorter: its oldest transfers are gone, and its numbers count both neighbours.
  const Parsed parsed = Parse(
      {{"rank0", Dump({transfer("send 0->1", 1, true), transfer("send 0->1", 2, true), transfer("send 0->1", 3, true),
                       transfer("send 0->1", 4, false)},
                      {{"pg_config", groups}})},
       {"rank1", Dump({transfer("recv 1<-0", 5, true), transfer("send 1->2", 6, true), transfer("recv 1<-0", 7, false)},
                      {{"pg_config", groups}})},
       {"rank2", Dump({transfer("recv 2<-1", 1, true), transfer("recv 2<-1", 2, true), transfer("recv 2<-1", 3, false)},
                      {{"pg_config", groups}})}});
  const Trace& trace = parsed.trace();
  ASSERT_EQ(trace.ranks.size(), 3u);
  const auto open_of = [&trace](size_t rank, OperationKind kind) {
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      if (operation.kind == kind && !operation.finished()) return operation.sequence;
    }
    ADD_FAILURE() << "rank " << rank << " has no open transfer";
    return uint64_t{0};
  };
  EXPECT_EQ(open_of(0, OperationKind::kSend), open_of(1, OperationKind::kRecv));
  const uint64_t open = open_of(0, OperationKind::kSend);
  std::vector<uint64_t> sent, received;
  for (const TraceOperation& operation : trace.OperationsOf(0)) sent.push_back(operation.sequence);
  for (const TraceOperation& operation : trace.OperationsOf(1)) {
    if (operation.kind == OperationKind::kRecv) received.push_back(operation.sequence);
  }
  EXPECT_THAT(sent, ElementsAre(open - 3, open - 2, open - 1, open));
  EXPECT_THAT(received, ElementsAre(open - 1, open));
}

TEST(FlightRecorderTransferTest, WithOnePeerTheNumbersAreUsedAsTheyAre) {
  const Parsed parsed =
      Parse({{"rank0", Dump({Entry({{"profiling_name", R"("nccl:send 0->1")"}, {"p2p_seq_id", "41"}})})},
             {"rank1", Dump({Entry({{"profiling_name", R"("nccl:recv 1<-0")"}, {"p2p_seq_id", "41"}})})}});
  EXPECT_EQ(parsed.trace().OperationsOf(0).at(0).sequence, 41u);
  EXPECT_EQ(parsed.trace().OperationsOf(1).at(0).sequence, 41u);
}

// The calls of a batch stay scheduled for ever; what the watchdog saw of them is told by the entry that follows them.
TEST(FlightRecorderBatchTest, TransfersOfABatchBeginAndEndWithIt) {
  const auto call = [](const char* name, const char* sequence) {
    return Entry({{"profiling_name", name},
                  {"p2p_seq_id", sequence},
                  {"is_p2p", "true"},
                  {"state", R"("scheduled")"},
                  {"retired", "false"},
                  {"time_discovered_started_ns", "null"},
                  {"time_discovered_completed_ns", "null"}});
  };
  const std::string done = Entry({{"profiling_name", R"("nccl:coalesced")"}, {"p2p_seq_id", "7"}, {"is_p2p", "true"}});
  const Parsed parsed = Parse({{"rank0", Dump({call(R"("nccl:send 0->1")", "7"), call(R"("nccl:recv 0<-1")", "7"), done,
                                               call(R"("nccl:send 0->1")", "8"), call(R"("nccl:coalesced")", "8")})}});
  EXPECT_OK(parsed.results[0].status);
  EXPECT_EQ(parsed.results[0].records, 5u);
  const std::vector<TraceOperation>& operations = parsed.trace().operations;
  ASSERT_EQ(operations.size(), 3u);
  for (const TraceOperation& operation : operations) {
    const bool of_first = operation.sequence == 7;
    EXPECT_EQ(operation.start_ns, of_first ? 1500 : kNoTime);
    EXPECT_EQ(operation.end_ns, of_first ? 2000 : kNoTime);
  }
}

TEST(FlightRecorderBatchTest, CollectivesOfABatchAreOneOperation) {
  const std::string call =
      Entry({{"is_p2p", "false"}, {"state", R"("scheduled")"}, {"time_discovered_completed_ns", "null"}});
  const Parsed parsed =
      Parse({{"rank0", Dump({call, call, Entry({{"profiling_name", R"("nccl:coalesced")"}, {"is_p2p", "false"}})})}});
  EXPECT_OK(parsed.results[0].status);
  ASSERT_EQ(parsed.trace().operations.size(), 1u);
  EXPECT_EQ(parsed.trace().operations[0].kind, OperationKind::kAllReduce);
  EXPECT_EQ(parsed.trace().operations[0].end_ns, 2000);
}

// 42 is of the other direction, and 43 is lost on one side.
TEST(FlightRecorderTransferTest, NumbersThatBothSidesLackAreNoGap) {
  const auto transfer = [](const char* name, const char* sequence) {
    return Entry({{"profiling_name", name}, {"p2p_seq_id", sequence}, {"time_created_ns", sequence}});
  };
  const char* send = R"("nccl:send 0->1")";
  const char* receive = R"("nccl:recv 1<-0")";
  const Parsed parsed = Parse({{"rank0", Dump({transfer(send, "41"), transfer(send, "43"), transfer(send, "44")})},
                               {"rank1", Dump({transfer(receive, "41"), transfer(receive, "44")})}});
  std::vector<uint64_t> sent, received;
  for (const TraceOperation& operation : parsed.trace().OperationsOf(0)) sent.push_back(operation.sequence);
  for (const TraceOperation& operation : parsed.trace().OperationsOf(1)) received.push_back(operation.sequence);
  EXPECT_THAT(sent, ElementsAre(41, 42, 43));
  EXPECT_THAT(received, ElementsAre(41, 43));
}

TEST(FlightRecorderDamageTest, WhateverTheBytesNoTimeRunsBackwards) {
  const std::string whole = Dump({Entry({}), Entry({{"profiling_name", R"("nccl:send 0->1")"}, {"p2p_seq_id", "3"}}),
                                  Entry({{"collective_seq_id", "5"}, {"state", R"("started")"}})},
                                 {{"rank", "1"}, {"host_name", "\"h\""}});
  int read = 0;
  for (uint64_t seed = 1; seed <= 1'500; ++seed) {
    Random random(seed);
    const Parsed parsed = Parse({{"rank0", Damaged(whole, random)}});
    if (parsed.results[0].status.ok()) {
      EXPECT_EQ(parsed.results[0].malformed, 0u);
    } else {
      EXPECT_EQ(parsed.results[0].status.code(), absl::StatusCode::kDataLoss) << parsed.results[0].status;
      EXPECT_FALSE(parsed.results[0].status.message().empty());
    }
    read += parsed.results[0].records > 0 ? 1 : 0;
    for (const TraceOperation& operation : parsed.trace().operations) {
      EXPECT_NE(operation.enqueue_ns, kNoTime);
      EXPECT_TRUE(!operation.finished() || operation.end_ns >= operation.start_ns) << seed;
    }
  }
  EXPECT_GT(read, 150) << "most damage would otherwise have hidden what the test is about";
}

}  // namespace
}  // namespace lockstep
