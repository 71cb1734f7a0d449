// ops-csv: what a row may say, what is wrong with one that does not fit, and that what is written is read again.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/random.h"
#include "base/shuffle.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/file_writer.h"
#include "formats/ops_csv_reader.h"
#include "formats/ops_csv_writer.h"
#include "formats/read_result.h"
#include "formats/testing/test_bytes.h"
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kColumns = {"job", "host", "gpu",  "rank",  "comm",       "comm_rank", "comm_size",
                                           "seq", "op",   "peer", "bytes", "enqueue_ns", "start_ns",  "end_ns"};

// A row by column; what is not named has the value of an ordinary AllReduce.
using Row = std::map<std::string, std::string>;

std::string TextOf(const std::vector<Row>& rows, const std::vector<std::string>& columns = kColumns) {
  const Row ordinary = {{"job", "j"},       {"host", "h"},      {"gpu", "0"},    {"rank", "0"},
                        {"comm", "c"},      {"comm_rank", "0"}, {"seq", "5"},    {"op", "AllReduce"},
                        {"comm_size", "2"}, {"peer", "-1"},     {"bytes", "64"}, {"enqueue_ns", "1"},
                        {"start_ns", "2"},  {"end_ns", "3"}};
  std::string text = absl::StrJoin(columns, ",") + "\n";
  for (Row row : rows) {
    row.insert(ordinary.begin(), ordinary.end());
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(row[column]);
    text += absl::StrJoin(cells, ",") + "\n";
  }
  return text;
}

struct Parsed {
  ReadResult result;
  std::vector<JobInput> jobs;
  const Trace& trace() const { return jobs.at(0).evidence.trace; }
};

Parsed Parse(const std::string& text, const std::string& default_job = "default") {
  EvidenceBuilder builder;
  const auto source = SourceOf(text);
  Parsed parsed;
  parsed.result = ReadOpsCsv(*source, default_job, builder);
  parsed.jobs = builder.Finish();
  return parsed;
}

TEST(OpsCsvRowTest, EveryCellArrives) {
  const Parsed parsed = Parse(TextOf({{{"job", "train"},
                                       {"host", "\"a,b\""},
                                       {"gpu", "7"},
                                       {"rank", "12"},
                                       {"comm", "dp 0"},
                                       {"comm_rank", "3"},
                                       {"comm_size", "9"},
                                       {"seq", "18446744073709551615"},
                                       {"op", "Send"},
                                       {"peer", "4"},
                                       {"bytes", "9007199254740993"},
                                       {"enqueue_ns", "-5"},
                                       {"start_ns", "1760000000433884331"},
                                       {"end_ns", "2305843009213693952"}}}));
  EXPECT_OK(parsed.result.status);
  const Trace& trace = parsed.trace();
  EXPECT_EQ(trace.job, "train");
  EXPECT_THAT(trace.hosts, ElementsAre("a,b"));
  ASSERT_EQ(trace.ranks.size(), 1u);
  EXPECT_EQ(trace.ranks[0].rank, 12);
  EXPECT_EQ(trace.ranks[0].gpu, 7);
  ASSERT_EQ(trace.communicators.size(), 1u);
  EXPECT_EQ(trace.communicators[0].name, "dp 0");
  EXPECT_THAT(trace.communicators[0].members, ElementsAre(-1, -1, -1, 0, -1, -1, -1, -1, -1));
  ASSERT_EQ(trace.operations.size(), 1u);
  const TraceOperation& operation = trace.operations[0];
  EXPECT_EQ(operation.sequence, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(operation.kind, OperationKind::kSend);
  EXPECT_EQ(operation.peer, 4);
  EXPECT_EQ(operation.bytes, 9007199254740993u);
  EXPECT_EQ(operation.enqueue_ns, -5);
  EXPECT_EQ(operation.start_ns, 1760000000433884331);
  EXPECT_EQ(operation.end_ns, int64_t{1} << 61) << "the latest that is one";
}

TEST(OpsCsvRowTest, EmptyCellsAreNotKnown) {
  const struct {
    const char* name;
    Row row;
    int64_t enqueue_ns, start_ns, end_ns;
  } cases[] = {
      {"never began", {{"start_ns", ""}, {"end_ns", ""}}, 1, kNoTime, kNoTime},
      {"never finished", {{"end_ns", ""}}, 1, 2, kNoTime},
      {"no call", {{"enqueue_ns", ""}}, 2, 2, 3},
      {"only a start", {{"enqueue_ns", ""}, {"end_ns", ""}}, 2, 2, kNoTime},
      {"called after it began", {{"enqueue_ns", "9"}}, 2, 2, 3},
      {"took no time", {{"start_ns", "3"}}, 1, 3, 3},
  };
  for (const auto& expected : cases) {
    const Parsed parsed = Parse(TextOf({expected.row}));
    EXPECT_OK(parsed.result.status);
    ASSERT_EQ(parsed.trace().operations.size(), 1u) << expected.name;
    const TraceOperation& operation = parsed.trace().operations[0];
    EXPECT_EQ(operation.enqueue_ns, expected.enqueue_ns) << expected.name;
    EXPECT_EQ(operation.start_ns, expected.start_ns) << expected.name;
    EXPECT_EQ(operation.end_ns, expected.end_ns) << expected.name;
  }
  const Parsed bare = Parse(TextOf(
      {{{"job", ""}, {"host", ""}, {"gpu", ""}, {"comm_rank", ""}, {"comm_size", ""}, {"peer", ""}, {"bytes", ""}}}));
  EXPECT_OK(bare.result.status);
  EXPECT_EQ(bare.trace().job, "default");
  EXPECT_TRUE(IsStandInHost(bare.trace().hosts.at(0)));
  EXPECT_EQ(bare.trace().ranks.at(0).gpu, -1);
  EXPECT_EQ(bare.trace().operations.at(0).peer, -1);
  EXPECT_EQ(bare.trace().operations.at(0).bytes, 0u);
}

TEST(OpsCsvRowTest, UnknownSizesAreWrittenInThreeWays) {
  for (const char* bytes : {"", "0", "-1"}) {
    EXPECT_EQ(Parse(TextOf({{{"bytes", bytes}}})).trace().operations.at(0).bytes, 0u) << bytes;
  }
}

TEST(OpsCsvRowTest, NamesOfOperationsAreKnownInAnyCase) {
  const struct {
    const char* op;
    OperationKind kind;
  } cases[] = {
      {"AllReduce", OperationKind::kAllReduce},
      {"all_gather", OperationKind::kAllGather},
      {"REDUCE-SCATTER", OperationKind::kReduceScatter},
      {"broadcast", OperationKind::kBroadcast},
      {"Reduce", OperationKind::kReduce},
      {"alltoall", OperationKind::kAllToAll},
      {"gather", OperationKind::kGather},
      {"SCATTER", OperationKind::kScatter},
      {"Barrier", OperationKind::kBarrier},
      {"send", OperationKind::kSend},
      {"Recv", OperationKind::kRecv},
      {"MyOwnCollective", OperationKind::kUnknown},
      {"", OperationKind::kUnknown},
  };
  for (const auto& [op, kind] : cases) {
    EXPECT_EQ(Parse(TextOf({{{"op", op}}})).trace().operations.at(0).kind, kind) << op;
  }
}

TEST(OpsCsvRowTest, ARowThatDoesNotFitIsNamedWithItsColumn) {
  const struct {
    Row row;
    std::string message;
  } cases[] = {
      {{{"rank", ""}}, "column 'rank': expected an integer, found ''"},
      {{{"rank", "one"}}, "column 'rank': expected an integer, found 'one'"},
      {{{"rank", "-1"}}, "column 'rank': expected a rank, found '-1'"},
      {{{"rank", "1048576"}}, "column 'rank': expected a rank, found '1048576'"},
      {{{"rank", "4294967296"}}, "column 'rank': expected an integer, found '4294967296'"},
      {{{"rank", "1.0"}}, "column 'rank': expected an integer, found '1.0'"},
      {{{"seq", ""}}, "column 'seq': expected an unsigned integer, found ''"},
      {{{"seq", "-1"}}, "column 'seq': expected an unsigned integer, found '-1'"},
      {{{"seq", "18446744073709551616"}}, "column 'seq': expected an unsigned integer, found '18446744073709551616'"},
      {{{"comm", ""}}, "column 'comm': expected a name, found ''"},
      {{{"gpu", "gpu0"}}, "column 'gpu': expected an integer, found 'gpu0'"},
      {{{"comm_rank", "a"}}, "column 'comm_rank': expected an integer, found 'a'"},
      {{{"comm_size", "2 "}}, "column 'comm_size': expected an integer, found '2 '"},
      {{{"peer", "x"}}, "column 'peer': expected an integer, found 'x'"},
      {{{"bytes", "64KiB"}}, "column 'bytes': expected an unsigned integer, found '64KiB'"},
      {{{"enqueue_ns", "1e9"}}, "column 'enqueue_ns': expected nanoseconds, found '1e9'"},
      {{{"start_ns", "0x1"}}, "column 'start_ns': expected nanoseconds, found '0x1'"},
      {{{"end_ns", "9223372036854775808"}}, "column 'end_ns': expected nanoseconds, found '9223372036854775808'"},
      {{{"end_ns", "2305843009213693953"}}, "column 'end_ns': expected nanoseconds, found '2305843009213693953'"},
      {{{"enqueue_ns", "-9223372036854775808"}},
       "column 'enqueue_ns': expected nanoseconds, found '-9223372036854775808'"},
      {{{"end_ns", "1"}}, "column 'end_ns': expected a time after start_ns, found '1'"},
      {{{"enqueue_ns", ""}, {"start_ns", ""}}, "column 'enqueue_ns': expected nanoseconds, found ''"},
      {{{"enqueue_ns", ""}, {"start_ns", ""}, {"end_ns", ""}}, "column 'enqueue_ns': expected nanoseconds, found ''"},
  };
  for (const auto& [row, message] : cases) {
    const Parsed parsed = Parse(TextOf({{}, row, {{"seq", "6"}}}));
    EXPECT_THAT(parsed.result.status, StatusIs(absl::StatusCode::kDataLoss, "line 3: " + message));
    EXPECT_EQ(parsed.result.records, 2u) << message;
    EXPECT_EQ(parsed.result.malformed, 1u) << message;
    EXPECT_EQ(parsed.trace().operations.size(), 2u) << message;
    EXPECT_EQ(parsed.trace().lost_records, 1u) << message;
  }
}

TEST(OpsCsvRowTest, OfWhatEndedAndNobodySawBeginTheCallIsKnown) {
  const Parsed parsed = Parse(TextOf({{{"start_ns", ""}}}));
  ASSERT_EQ(parsed.trace().operations.size(), 1u);
  const TraceOperation& operation = parsed.trace().operations[0];
  EXPECT_TRUE(operation.finished());
  EXPECT_EQ(operation.start_ns, operation.enqueue_ns);
  EXPECT_EQ(operation.quality, TimingQuality::kHostEnqueue);
}

TEST(OpsCsvFileTest, TheColumnsThatMustBeThere) {
  for (const char* required : {"rank", "comm", "seq", "op", "start_ns", "end_ns"}) {
    std::vector<std::string> columns = kColumns;
    columns.erase(std::find(columns.begin(), columns.end(), required));
    EXPECT_THAT(Parse(TextOf({{}}, columns)).result.status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(absl::StrCat("line 1: expected a column '", required,
                                                                             "', found the header 'job,"))));
  }
  const Parsed least = Parse(TextOf({{}}, {"rank", "comm", "seq", "op", "start_ns", "end_ns"}));
  EXPECT_OK(least.result.status);
  EXPECT_EQ(least.trace().operations.size(), 1u);
  EXPECT_EQ(least.trace().job, "default");
}

TEST(OpsCsvFileTest, AFileOfAHeaderAloneHasNoJob) {
  const Parsed parsed = Parse(TextOf({}));
  EXPECT_OK(parsed.result.status);
  EXPECT_TRUE(parsed.jobs.empty());
}

TEST(OpsCsvFileTest, AFileOfMalformedRowsTellsItsJobWhatWasLost) {
  const Parsed parsed = Parse(TextOf({{{"rank", "x"}}, {{"rank", "y"}}}), "run-7");
  ASSERT_EQ(parsed.jobs.size(), 1u);
  EXPECT_EQ(parsed.trace().job, "run-7");
  EXPECT_EQ(parsed.trace().lost_records, 2u);
}

TEST(OpsCsvFileTest, JobsAreKeptApart) {
  const Parsed parsed = Parse(TextOf({{{"job", "b"}, {"host", "x"}},
                                      {{"job", ""}},
                                      {{"job", "a"}, {"rank", "1"}},
                                      {{"job", "b"}, {"seq", "6"}},
                                      {{"job", "default"}, {"seq", "9"}}}));
  ASSERT_EQ(parsed.jobs.size(), 3u);
  EXPECT_EQ(parsed.jobs[0].evidence.job, "b");
  EXPECT_EQ(parsed.jobs[0].evidence.trace.operations.size(), 2u);
  EXPECT_EQ(parsed.jobs[1].evidence.job, "default");
  EXPECT_EQ(parsed.jobs[1].evidence.trace.operations.size(), 2u);
  EXPECT_EQ(parsed.jobs[2].evidence.trace.ranks.at(0).rank, 1);
}

TEST(OpsCsvFileTest, ARecordThatComesTwiceIsKeptOnceTheMoreCompleteOne) {
  const Row open = {{"end_ns", ""}};
  for (const std::vector<Row>& rows : {std::vector<Row>{open, {}}, std::vector<Row>{{}, open, {}}}) {
    const Parsed parsed = Parse(TextOf(rows));
    ASSERT_EQ(parsed.trace().operations.size(), 1u);
    EXPECT_EQ(parsed.trace().operations[0].end_ns, 3);
    EXPECT_EQ(parsed.trace().lost_records, 0u);
  }
}

TEST(OpsCsvFileTest, WhatOneRowLeavesOutAnotherMaySay) {
  const Parsed parsed = Parse(TextOf({{{"host", ""}, {"gpu", ""}, {"comm_rank", ""}, {"comm_size", ""}},
                                      {{"seq", "6"}, {"host", "h9"}, {"gpu", "3"}, {"comm_rank", "1"}}}));
  EXPECT_THAT(parsed.trace().hosts, ElementsAre("h9"));
  EXPECT_EQ(parsed.trace().ranks.at(0).gpu, 3);
  EXPECT_THAT(parsed.trace().communicators.at(0).members, ElementsAre(-1, 0));
}

TEST(OpsCsvFileTest, MembersWithoutAPlaceTakeTheFreeOnesByRank) {
  const Parsed parsed = Parse(TextOf({{{"rank", "7"}, {"comm_rank", ""}, {"comm_size", ""}},
                                      {{"rank", "3"}, {"comm_rank", ""}, {"comm_size", ""}},
                                      {{"rank", "5"}, {"comm_rank", "1"}, {"comm_size", ""}}}));
  // Ranks 3, 5, 7 have the indices 0, 1, 2.
  EXPECT_THAT(parsed.trace().communicators.at(0).members, ElementsAre(0, 1, 2));
}

TEST(OpsCsvFileTest, RanksOfTheWorldThatLeftNoRowsAreMissed) {
  const Parsed parsed = Parse(TextOf({{{"rank", "0"}, {"comm_rank", "0"}, {"comm_size", "4"}},
                                      {{"rank", "2"}, {"comm_rank", "2"}, {"comm_size", "4"}}}));
  EXPECT_THAT(parsed.trace().missing_ranks, ElementsAre(1, 3));
}

struct TraceShape {
  uint64_t ranks;
  uint64_t communicators;
  uint64_t operations;
};

// Names with everything that a name may have, times of any sign, operations of all kinds in all states.
Trace RandomTraceOf(const TraceShape& shape, Random& random) {
  const std::vector<std::string> names = {"plain", "with,comma", "with \"quotes\"", "", "ümlaut", " spaces ", "x/y.z"};
  TraceCollection collection("job " + names[random.Below(names.size())]);
  for (uint64_t i = 0; i < shape.operations; ++i) {
    OperationRow row;
    row.rank = static_cast<int32_t>(random.Below(shape.ranks));
    const std::string host =
        absl::StrCat("node", row.rank / 4, names[static_cast<size_t>(row.rank / 4) % names.size()]);
    const uint64_t group = random.Below(shape.communicators);
    const std::string communicator = absl::StrCat("c", group, names[group % names.size()]);
    row.host = host;
    row.gpu = row.rank % 4 - 1;  // -1 = not known
    row.communicator = communicator;
    row.communicator_rank = row.rank;
    row.communicator_size = static_cast<int32_t>(shape.ranks);
    TraceOperation& operation = row.operation;
    operation.kind = static_cast<OperationKind>(random.Below(static_cast<uint64_t>(OperationKind::kRecv) + 1));
    operation.sequence = random.Below(4) == 0 ? random.Next() : i;
    operation.bytes = random.Below(3) == 0 ? 0 : random.Next() >> (1 + random.Below(60));
    const bool transfer = operation.kind == OperationKind::kSend || operation.kind == OperationKind::kRecv;
    operation.peer = transfer ? static_cast<int32_t>(random.Below(shape.ranks)) : -1;
    operation.enqueue_ns =
        static_cast<int64_t>(random.Next() >> (3 + random.Below(50))) * (random.Below(2) == 0 ? 1 : -1);
    const uint64_t state = random.Below(5);
    if (state > 0) operation.start_ns = operation.enqueue_ns + static_cast<int64_t>(random.Below(1000));
    if (state > 1) operation.end_ns = operation.start_ns + static_cast<int64_t>(random.Below(1'000'000));
    collection.Add(row);
  }
  return collection.Finish();
}

std::string WrittenAs(const Trace& trace, const std::string& path) {
  EXPECT_OK(WriteOpsCsvFile(trace, path));
  return BytesOfFile(path);
}

void ExpectSame(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.job, b.job);
  EXPECT_EQ(a.hosts, b.hosts);
  EXPECT_EQ(a.first_operation, b.first_operation);
  EXPECT_EQ(a.missing_ranks, b.missing_ranks);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (size_t i = 0; i < a.ranks.size(); ++i) {
    EXPECT_EQ(a.ranks[i].rank, b.ranks[i].rank);
    EXPECT_EQ(a.ranks[i].host, b.ranks[i].host);
    EXPECT_EQ(a.ranks[i].gpu, b.ranks[i].gpu);
  }
  ASSERT_EQ(a.communicators.size(), b.communicators.size());
  for (size_t i = 0; i < a.communicators.size(); ++i) {
    EXPECT_EQ(a.communicators[i].name, b.communicators[i].name);
    EXPECT_EQ(a.communicators[i].members, b.communicators[i].members);
  }
  ASSERT_EQ(a.operations.size(), b.operations.size());
  for (size_t i = 0; i < a.operations.size(); ++i) {
    const TraceOperation &x = a.operations[i], &y = b.operations[i];
    EXPECT_EQ(std::tie(x.enqueue_ns, x.start_ns, x.end_ns, x.sequence, x.bytes, x.communicator, x.peer, x.kind),
              std::tie(y.enqueue_ns, y.start_ns, y.end_ns, y.sequence, y.bytes, y.communicator, y.peer, y.kind));
  }
}

TEST(OpsCsvWriterTest, WhatIsWrittenIsReadAgain) {
  const TemporaryDirectory directory;
  Random random(21);
  for (const TraceShape& shape : {TraceShape{1, 1, 1}, {2, 1, 30}, {16, 5, 400}, {40, 3, 2'000}}) {
    for (int round = 0; round < 6; ++round) {
      const Trace trace = RandomTraceOf(shape, random);
      const Parsed parsed = Parse(WrittenAs(trace, directory.path() / "ops.csv"));
      EXPECT_OK(parsed.result.status);
      EXPECT_EQ(parsed.result.records, trace.operations.size());
      ExpectSame(parsed.trace(), trace);
    }
  }
}

TEST(OpsCsvWriterTest, TheBytesAreAsDocumented) {
  const TemporaryDirectory directory;
  const std::string text =
      "job,host,gpu,rank,comm,comm_rank,comm_size,seq,op,peer,bytes,enqueue_ns,start_ns,end_ns\n"
      "j,h0,0,0,\"a,b\",0,2,7,AllReduce,-1,64,1,2,3\n"
      "j,h0,0,0,pp,0,2,0,Send,1,,4,5,\n"
      "j,h1,,1,pp,1,2,0,Recv,0,,4,,\n";
  const Parsed parsed = Parse(text);
  EXPECT_OK(parsed.result.status);
  EXPECT_EQ(WrittenAs(parsed.trace(), directory.path() / "ops.csv"), text);
}

TEST(OpsCsvOrderTest, TheOrderOfRowsAndColumnsAndTheNumberOfCopiesLeaveNoMark) {
  const TemporaryDirectory directory;
  Random random(22);
  for (int round = 0; round < 12; ++round) {
    const std::string text = WrittenAs(RandomTraceOf({8, 3, 120}, random), directory.path() / "ops.csv");
    const Trace expected = std::move(Parse(text).jobs.at(0).evidence.trace);
    std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    std::vector<std::string> rows(lines.begin() + 1, lines.end());
    for (size_t copies = rows.size() / 5; copies > 0; --copies) rows.push_back(rows[random.Below(rows.size())]);
    Shuffle(random, &rows);
    const std::string line_end = round % 2 == 0 ? "\n" : "\r\n";
    const Parsed shuffled = Parse(lines[0] + line_end + absl::StrJoin(rows, line_end) + line_end);
    EXPECT_OK(shuffled.result.status);
    ExpectSame(shuffled.trace(), expected);
  }
  std::vector<std::string> columns = kColumns;
  columns.push_back("algo");  // one that nobody knows
  for (int round = 0; round < 12; ++round) {
    Shuffle(random, &columns);
    const std::string text = TextOf({{}, {{"rank", "1"}, {"comm_rank", "1"}, {"end_ns", ""}}}, columns);
    ExpectSame(Parse(text).trace(), Parse(TextOf({{}, {{"rank", "1"}, {"comm_rank", "1"}, {"end_ns", ""}}})).trace());
  }
}

TEST(OpsCsvOrderTest, FilesOfOneJobAddUpWhicheverWayItIsCut) {
  const TemporaryDirectory directory;
  Random random(23);
  const Trace trace = RandomTraceOf({8, 3, 300}, random);
  const std::string text = WrittenAs(trace, directory.path() / "ops.csv");
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (const size_t files : {2, 3, 8}) {
    std::vector<std::string> parts(files, lines[0] + "\n");
    for (size_t i = 1; i < lines.size(); ++i) parts[random.Below(files)] += lines[i] + "\n";
    EvidenceBuilder builder;
    for (size_t i = 0; i < files; ++i) {
      const std::string bytes = i % 3 == 0 ? parts[i] : i % 3 == 1 ? Gzipped(parts[i]) : Zstandard(parts[i]);
      EXPECT_OK(ReadOpsCsv(*SourceOf(bytes), "default", builder).status);
    }
    ExpectSame(builder.Finish().at(0).evidence.trace, trace);
  }
}

TEST(OpsCsvDamageTest, WhateverTheBytesTheRowsAddUp) {
  const TemporaryDirectory directory;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::string text = WrittenAs(RandomTraceOf({4, 2, 25}, random), directory.path() / "ops.csv");
    const Parsed parsed = Parse(Damaged(text, random));
    EXPECT_EQ(parsed.result.status.ok(), parsed.result.malformed == 0 && !absl::IsDataLoss(parsed.result.status));
    uint64_t lost = 0, kept = 0;
    for (const JobInput& job : parsed.jobs) {
      lost += job.evidence.trace.lost_records;
      kept += job.evidence.trace.operations.size();
      for (const TraceOperation& operation : job.evidence.trace.operations) {
        EXPECT_NE(operation.enqueue_ns, kNoTime);
        EXPECT_TRUE(!operation.finished() || (operation.started() && operation.end_ns >= operation.start_ns)) << seed;
      }
    }
    EXPECT_LE(kept, parsed.result.records) << seed;
    EXPECT_GE(lost, parsed.result.malformed) << seed;
  }
}

TEST(OpsCsvDamageTest, ACompressedFileThatIsCutGivesTheRowsBeforeTheCut) {
  std::vector<Row> rows;
  for (int i = 0; i < 20'000; ++i)
    rows.push_back({{"seq", absl::StrCat(i)},
                    {"enqueue_ns", absl::StrCat(10 * i)},
                    {"start_ns", absl::StrCat(10 * i)},
                    {"end_ns", absl::StrCat(10 * i + 9)}});
  const std::string text = TextOf(rows);
  for (const std::string& bytes : {Gzipped(text), Zstandard(text)}) {
    const Parsed parsed = Parse(bytes.substr(0, bytes.size() - bytes.size() / 10));
    EXPECT_THAT(parsed.result.status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("compressed data damaged near byte ")));
    EXPECT_THAT(parsed.result.status.message(), HasSubstr(absl::StrCat("after ", parsed.result.records, " rows")));
    EXPECT_GT(parsed.result.records, 1'000u);
    EXPECT_EQ(parsed.trace().operations.size(), parsed.result.records);
  }
}

TEST(OpsCsvPublicTest, EveryRowOfForeignRecordingsIsTaken) {
  const std::filesystem::path data = PublicRecordings("formats/ops_csv_test.cc");
  if (data.empty()) GTEST_SKIP() << "no public data beside the repository";
  for (const char* name : {"64-dead", "64-healthy-ugly", "64-mismatch-op"}) {
    const auto source = ByteSource::Open(data / "foreign_fleets" / name / "ops.csv.zst");
    ASSERT_OK(source);
    EvidenceBuilder builder;
    const ReadResult result = ReadOpsCsv(**source, "none", builder);
    EXPECT_OK(result.status);
    EXPECT_EQ(result.malformed, 0u);
    const std::vector<JobInput> jobs = builder.Finish();
    ASSERT_EQ(jobs.size(), 1u) << name;
    const Trace& trace = jobs[0].evidence.trace;
    EXPECT_EQ(trace.ranks.size() + trace.missing_ranks.size(), 64u) << name;
    EXPECT_GT(trace.operations.size(), 10'000u) << name;
    EXPECT_LE(trace.operations.size(), result.records) << name;
    std::set<OperationKind> kinds;
    for (const TraceOperation& operation : trace.operations) kinds.insert(operation.kind);
    EXPECT_EQ(kinds.count(OperationKind::kUnknown), 0u) << name;
    EXPECT_GE(kinds.size(), 3u) << name;
  }
}

}  // namespace
}  // namespace lockstep
