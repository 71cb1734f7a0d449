// From rows of any origin to one trace and one body of evidence per job, and what names say.

#include "formats/trace_collection.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "base/shuffle.h"
#include "base/testing/status_matchers.h"
#include "detector/model/input.h"
#include "detector/model/job_evidence.h"
#include "detector/model/operation_kind.h"
#include "detector/model/place_table.h"
#include "detector/model/trace.h"
#include "formats/evidence_builder.h"
#include "formats/file_name.h"
#include "formats/name_table.h"
#include "formats/operation_names.h"
#include "formats/process_group.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OperationRow RowOf(int32_t rank, absl::string_view communicator, int64_t time_ns = 1) {
  OperationRow row;
  row.rank = rank;
  row.communicator = communicator;
  row.operation.kind = OperationKind::kAllReduce;
  row.operation.enqueue_ns = time_ns;
  row.operation.start_ns = time_ns;
  row.operation.end_ns = time_ns + 1;
  return row;
}

TEST(TraceCollectionTest, ARankWithoutAHostIsNobodysNeighbour) {
  TraceCollection collection("j");
  collection.Add(RowOf(0, "c"));
  collection.Add(RowOf(1, "c"));
  OperationRow known = RowOf(2, "c");
  known.host = "h";
  collection.Add(known);
  const Trace trace = collection.Finish();
  ASSERT_EQ(trace.ranks.size(), 3u);
  std::set<int32_t> hosts;
  for (const TraceRank& rank : trace.ranks) hosts.insert(rank.host);
  EXPECT_EQ(hosts.size(), 3u);
  EXPECT_TRUE(IsStandInHost(trace.hosts[static_cast<size_t>(trace.ranks[0].host)]));
  EXPECT_FALSE(IsStandInHost(trace.hosts[static_cast<size_t>(trace.ranks[2].host)]));
}

TEST(TraceCollectionTest, WhatIsSaidLaterOfARankIsFilledIn) {
  TraceCollection collection("j");
  collection.Add(RowOf(5, "c"));
  RankRow row;
  row.rank = 5;
  row.host = "h";
  row.gpu = 3;
  row.pid = 77;
  row.process_state = ProcessState::kZombie;
  row.last_seen_ns = 900;
  collection.Describe(row);
  row.last_seen_ns = 800;
  row.host = "another";
  collection.Describe(row);
  const Trace trace = collection.Finish();
  ASSERT_EQ(trace.ranks.size(), 1u);
  EXPECT_EQ(trace.hosts[static_cast<size_t>(trace.ranks[0].host)], "h") << "the first host counts";
  EXPECT_EQ(trace.ranks[0].gpu, 3);
  EXPECT_EQ(trace.ranks[0].pid, 77);
  EXPECT_EQ(trace.ranks[0].process_state, ProcessState::kZombie);
  EXPECT_EQ(trace.ranks[0].last_seen_ns, 900) << "the latest";
}

TEST(TraceCollectionTest, RanksThatCannotBeAreLost) {
  TraceCollection collection("j");
  for (const int32_t rank : {-1, kMaxRank + 1, std::numeric_limits<int32_t>::min()}) collection.Add(RowOf(rank, "c"));
  collection.Add(RowOf(kMaxRank, "c"));
  collection.AddLost(10);
  const Trace trace = collection.Finish();
  EXPECT_EQ(trace.lost_records, 13u);
  ASSERT_EQ(trace.ranks.size(), 1u);
  EXPECT_EQ(trace.ranks[0].rank, kMaxRank);
}

TEST(TraceCollectionTest, ListedMembersWithoutRecordsAreMissing) {
  TraceCollection collection("j");
  const std::vector<int32_t> ranks = {4, 0, -1, 7, kMaxRank + 1};
  collection.DescribeCommunicator("dp", "data", ranks);
  collection.Add(RowOf(0, "dp"));
  const Trace trace = collection.Finish();
  ASSERT_EQ(trace.communicators.size(), 1u);
  EXPECT_EQ(trace.communicators[0].hint, "data");
  EXPECT_THAT(trace.communicators[0].members, ElementsAre(-1, 0, -1, -1, -1)) << "the place in the list";
  EXPECT_THAT(trace.missing_ranks, ElementsAre(4, 7));
}

TEST(TraceCollectionTest, TheWorldSaysWhoOughtToBeThere) {
  TraceCollection collection("j");
  collection.ExpectRanks(3);
  collection.ExpectRanks(5);
  collection.ExpectRanks(2);
  collection.ExpectRanks(-1);
  collection.Add(RowOf(1, "c"));
  RankRow silent;
  silent.rank = 3;
  collection.Describe(silent);  // left a file, and no operation in it
  EXPECT_THAT(collection.Finish().missing_ranks, ElementsAre(0, 2, 4));
}

TEST(TraceCollectionTest, ACommunicatorIsAsLargeAsAnybodyClaims) {
  TraceCollection collection("j");
  for (const int32_t size : {-1, 2, 6, 4}) {
    OperationRow row = RowOf(size + 1, "c");
    row.communicator_size = size;
    collection.Add(row);
  }
  EXPECT_EQ(collection.Finish().communicators[0].members.size(), 6u);
}

TEST(TraceCollectionTest, TheOrderOfRowsLeavesNoMark) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    std::vector<OperationRow> rows;
    for (int i = 0; i < 60; ++i) {
      OperationRow row = RowOf(static_cast<int32_t>(random.Below(6)), random.Below(2) == 0 ? "a" : "b", i);
      row.host = random.Below(3) == 0 ? "" : row.rank < 3 ? "h0" : "h1";
      row.communicator_rank = random.Below(3) == 0 ? -1 : row.rank;
      row.operation.sequence = static_cast<uint64_t>(i);
      rows.push_back(row);
    }
    const auto collected = [&rows] {
      TraceCollection collection("j");
      for (const OperationRow& row : rows) collection.Add(row);
      return collection.Finish();
    };
    const Trace expected = collected();
    Shuffle(random, &rows);
    const Trace shuffled = collected();
    EXPECT_EQ(shuffled.hosts, expected.hosts);
    EXPECT_EQ(shuffled.first_operation, expected.first_operation);
    ASSERT_EQ(shuffled.communicators.size(), expected.communicators.size());
    for (size_t i = 0; i < expected.communicators.size(); ++i) {
      EXPECT_EQ(shuffled.communicators[i].members, expected.communicators[i].members) << seed;
    }
    for (size_t i = 0; i < expected.operations.size(); ++i) {
      EXPECT_EQ(shuffled.operations[i].sequence, expected.operations[i].sequence);
      EXPECT_EQ(shuffled.operations[i].communicator, expected.operations[i].communicator);
    }
  }
}

TEST(EvidenceBuilderTest, JobsComeInTheOrderOfTheirFirstMention) {
  EvidenceBuilder builder;
  const JobIndex b = builder.Job("b"), a = builder.Job("a");
  EXPECT_EQ(builder.Job("b"), b);
  EXPECT_THAT(builder.JobNames(), ElementsAre("b", "a"));
  builder.AddNote(a, "note");
  builder.AddLost(b, 3);
  const std::vector<JobInput> jobs = builder.Finish();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].evidence.job, "b");
  EXPECT_EQ(jobs[0].evidence.trace.lost_records, 3u);
  EXPECT_THAT(jobs[1].notes, ElementsAre("note"));
  EXPECT_THAT(builder.JobNames(), IsEmpty()) << "empty afterwards";
  EXPECT_THAT(builder.Finish(), IsEmpty());
  EXPECT_EQ(builder.Job("a"), 0) << "and may be filled anew";
}

TEST(EvidenceBuilderTest, JobsBeyondTheLimitAreTheLastOne) {
  EvidenceBuilder builder;
  for (size_t i = 0; i < kMaxJobs; ++i) EXPECT_EQ(builder.Job(absl::StrCat("job", i)), static_cast<JobIndex>(i));
  EXPECT_EQ(builder.Job("one more"), static_cast<JobIndex>(kMaxJobs) - 1);
  EXPECT_EQ(builder.Job("job7"), 7);
  EXPECT_EQ(builder.Finish().size(), kMaxJobs);
}

TEST(EvidenceBuilderTest, NotesAreToldOnceAndNotWithoutEnd) {
  EvidenceBuilder builder;
  const JobIndex job = builder.Job("j");
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kMaxNotes + 5; ++i) builder.AddNote(job, absl::StrCat("note ", i));
  }
  const std::vector<std::string> notes = builder.Finish().at(0).notes;
  EXPECT_EQ(notes.size(), kMaxNotes);
  EXPECT_EQ(notes.front(), "note 0");
  EXPECT_EQ(std::set<std::string>(notes.begin(), notes.end()).size(), kMaxNotes);
}

TEST(EvidenceBuilderTest, EventsBeyondTheLimitAreCountedAsLost) {
  EvidenceBuilder builder;
  const JobIndex job = builder.Job("j");
  HostEvent event;
  event.host = "h";
  for (size_t i = 0; i < kMaxEvents + 7; ++i) builder.AddEvent(job, event);
  const JobInput input = std::move(builder.Finish().at(0));
  EXPECT_EQ(input.evidence.events.size(), kMaxEvents);
  EXPECT_EQ(input.evidence.trace.lost_records, 7u);
}

TEST(EvidenceBuilderTest, TheNewestPlaceOfAHostCounts) {
  EvidenceBuilder builder;
  const JobIndex job = builder.Job("j");
  builder.PlaceHost(job, "a", {"r1", "l1", "", ""});
  builder.PlaceHost(job, "b", {"r1", "", "", ""});
  builder.PlaceHost(job, "c", {"", "", "", ""});
  builder.PlaceHost(job, "a", {"r2", "", "p", ""});
  builder.PlaceHost(job, "b", {"", "", "", ""});
  const PlaceTable places = std::move(builder.Finish().at(0).evidence.places);
  ASSERT_EQ(places.of_host.size(), 1u) << "a host whose places nobody knows any more has none";
  EXPECT_EQ(places.of_host.at("a"), (Places{"r2", "", "p", ""}));
}

TEST(NameTableTest, NumbersAreThoseOfTheFirstMentionUpToTheLimit) {
  NameTable names(3);
  EXPECT_EQ(names.Intern("a"), 0);
  EXPECT_EQ(names.Intern("a"), 0);
  EXPECT_EQ(names.Intern(""), 1);
  EXPECT_EQ(names.Intern("b"), 2);
  EXPECT_EQ(names.Intern("c"), -1);
  EXPECT_EQ(names.Intern("a"), 0) << "a full table still knows what it holds";
  EXPECT_EQ(names.Intern("c"), -1);
  EXPECT_THAT(names.names(), ElementsAre("a", "", "b"));
}

TEST(FileNameTest, RanksInTheNamesOfFiles) {
  const struct {
    const char* path;
    int32_t rank;         // after the word
    int32_t rank_at_end;  // or the last number
  } cases[] = {
      {"rank12.json", 12, 12},
      {"trace_rank-3_step7.json.gz", 3, 3},
      {"Rank_4.json", 4, 4},
      {"rank=5", 5, 5},
      {"rank.6.json", 6, 6},
      {"RANK007", 7, 7},
      {"rank_x_rank9", 9, 9},
      {"ranks.json", -1, -1},
      {"rank--3", -1, 3},
      {"rank99999999999.json", -1, -1},
      {"rank5/trace.json", -1, -1},
      {"dir12/_dump_14", -1, 14},
      {"_dump_14.pickle.gz", -1, 14},
      {"dump_3_of_8", -1, 8},
      {"dump", -1, -1},
      {"", -1, -1},
  };
  for (const auto& [path, rank, rank_at_end] : cases) {
    EXPECT_EQ(RankInFileName(path), rank) << path;
    EXPECT_EQ(RankAtEndOfFileName(path), rank_at_end) << path;
  }
}

TEST(FileNameTest, HostsInTheNamesOfFiles) {
  const std::pair<const char*, const char*> cases[] = {
      {"d/node-7_123.1700000000.pt.trace.json", "node-7"},
      {"node_7_123.1700000000.pt.trace.json.gz", "node_7"},
      {"node-7_123.pt.trace.json", "node-7"},  // old versions leave the time out
      {"node.domain_123.17.pt.trace.json", "node.domain"},
      {"node-7.1700000000.pt.trace.json", ""},
      {"node-7_pid.1700000000.pt.trace.json", ""},
      {"node-7_123.1700000000.json", ""},
      {"_123.1.pt.trace.json", ""},
      {"", ""},
  };
  for (const auto& [path, host] : cases) EXPECT_EQ(HostInFileName(path), host) << path;
}

TEST(OperationNamesTest, EveryKindIsKnownByItsOwnNameInAnyDress) {
  for (int number = 1; number <= static_cast<int>(OperationKind::kRecv); ++number) {
    const auto kind = static_cast<OperationKind>(number);
    const std::string name = Name(kind);
    std::string snake, upper;
    for (const char c : name) {
      if (c >= 'A' && c <= 'Z' && !snake.empty()) snake += "_";
      snake.push_back(static_cast<char>(c | 0x20));
      upper.push_back(static_cast<char>(c & ~0x20));
    }
    for (const std::string& dressed : {name, snake, upper, "nccl:" + snake, "_" + snake + "_", snake + " "}) {
      EXPECT_EQ(OperationKindOf(dressed), kind) << dressed;
    }
  }
  for (const char* unknown : {"", "nccl:", "all", "reducer", "allreduce2", "sendrecv", "Unknown"}) {
    EXPECT_EQ(OperationKindOf(unknown), OperationKind::kUnknown) << unknown;
  }
  EXPECT_EQ(OperationKindOf(std::string(1 << 20, 'x')), OperationKind::kUnknown);
}

TEST(OperationNamesTest, TypesHaveASizeWhateverTheirNamespace) {
  const std::pair<const char*, uint64_t> cases[] = {{"Float", 4},
                                                    {"c10::BFloat16", 2},
                                                    {"bfloat16", 2},
                                                    {"torch.float64", 8},
                                                    {"Long", 8},
                                                    {"long int", 8},
                                                    {"unsigned char", 1},
                                                    {"Bool", 1},
                                                    {"c10::Float8_e4m3fn", 1},
                                                    {"ComplexDouble", 16},
                                                    {"HALF", 2},
                                                    {"float 32", 0},
                                                    {"", 0},
                                                    {"c10::", 0},
                                                    {"int128", 0}};
  for (const auto& [type, bytes] : cases) EXPECT_EQ(ElementBytesOf(type), bytes) << type;
}

TEST(ProcessGroupNameTest, ListsOfRanksAreWholeOrNothing) {
  using Ranks = std::vector<int32_t>;
  const std::pair<const char*, Ranks> cases[] = {{"[0]", {0}},    {"[0, 8,16]", {0, 8, 16}},
                                                 {"[ 3 ]", {3}},  {"[1, 0]", {1, 0}},
                                                 {"[]", {}},      {"", {}},
                                                 {"[", {}},       {"[0, ...]", {}},
                                                 {"[0, -1]", {}}, {"[0,,1]", {}},
                                                 {"[0, 1", {}},   {"[2147483648]", {}},
                                                 {"(0, 1)", {}},  {"[0 1]", {}},
                                                 {"[0.0]", {}}};
  for (const auto& [text, ranks] : cases) EXPECT_EQ(ParseRankList(text), ranks) << text;
}

TEST(ProcessGroupNameTest, StridesThatLeaveTheWorldGiveNothing) {
  constexpr auto kLimit = static_cast<int64_t>(kMaxGroupRanks);
  EXPECT_THAT(StridedRanks(0, 1, 1), ElementsAre(0));
  EXPECT_THAT(StridedRanks(2, 3, 3), ElementsAre(2, 5, 8));
  EXPECT_EQ(StridedRanks(0, 1, kLimit).size(), kMaxGroupRanks);
  EXPECT_THAT(StridedRanks(kLimit - 1, 1, 1), ElementsAre(kLimit - 1));
  const int64_t bad[][3] = {{-1, 1, 2},
                            {0, 0, 2},
                            {0, -1, 2},
                            {0, 1, 0},
                            {0, 1, -5},
                            {0, 1, kLimit + 1},
                            {1, 1, kLimit},
                            {kLimit, 1, 1},
                            {0, kLimit, 2},
                            {0, kLimit - 1, 3},
                            {0, int64_t{1} << 40, int64_t{1} << 40}};
  for (const auto& [start, stride, size] : bad) {
    EXPECT_THAT(StridedRanks(start, stride, size), IsEmpty()) << start << " " << stride << " " << size;
  }
}

TEST(ProcessGroupNameTest, OtherMembersGiveAnotherName) {
  EXPECT_EQ(CommunicatorName("39", {}), "39");
  EXPECT_EQ(CommunicatorName("39", {0, 8}), "39[0,8]");
  EXPECT_EQ(CommunicatorName("", {1, 2, 3, 4, 5, 6, 7, 8}), "[1,2,3,4,5,6,7,8]");
  Random random(3);
  std::set<std::string> names;
  std::set<std::vector<int32_t>> groups;
  for (int i = 0; i < 2'000; ++i) {
    std::vector<int32_t> ranks = {0, 1};  // all with equal ends, so that only the number and the hash differ
    for (uint64_t n = 5 + random.Below(20); n > 0; --n) ranks.push_back(static_cast<int32_t>(random.Below(100'000)));
    ranks.push_back(100'000);
    groups.insert(ranks);
    names.insert(CommunicatorName("0", ranks));
    EXPECT_LT(CommunicatorName("0", ranks).size(), 60u);
  }
  EXPECT_EQ(names.size(), groups.size());
}

}  // namespace
}  // namespace lockstep
