#include "detector/trace/trace_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/input.h"
#include "detector/trace/operation_instances.h"
#include "detector/trace/trace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

struct Row {
  int32_t rank = 0;
  std::string communicator;
  TraceOperation operation;
};

// Three ranks in a group of three, with Send/Recv in a ring, some of it missing.
std::vector<Row> RandomRows(Random* random, bool wild) {
  std::vector<Row> rows;
  for (int32_t rank = 0; rank < 3; ++rank) {
    for (uint64_t i = 0; i < 40; ++i) {
      const auto kind = i % 3 == 0   ? OperationKind::kAllReduce
                        : i % 3 == 1 ? OperationKind::kSend
                                     : OperationKind::kRecv;
      const int32_t peer = kind == OperationKind::kSend ? (rank + 1) % 3 : (rank + 2) % 3;
      const auto at = static_cast<int64_t>(1000 * i + random->Below(500));
      if (random->Below(10) == 0) continue;
      rows.push_back({rank,
                      "ring",
                      {.enqueue_ns = at,
                       .start_ns = at + 10,
                       .end_ns = at + 100,
                       .sequence = wild ? (i / 3) * 1'000'000'007 : i / 3,
                       .peer = i % 3 == 0 ? -1 : peer,
                       .kind = kind}});
    }
  }
  return rows;
}

Trace Build(const std::vector<Row>& rows, uint64_t* duplicates) {
  TraceBuilder builder("job");
  for (const Row& row : rows) {
    const int32_t rank = builder.AddRank({.rank = row.rank, .host = builder.AddHost(absl::StrCat("h", row.rank))});
    TraceOperation operation = row.operation;
    operation.communicator = builder.AddCommunicator(row.communicator, "", 3);
    builder.AddMember(operation.communicator, row.rank, rank);
    EXPECT_TRUE(builder.Add(rank, operation));
  }
  Trace trace = builder.Build();
  *duplicates = builder.duplicates();
  return trace;
}

TEST(TraceBuilderTest, OrderAndRepetitionLeaveNoMark) {
  Random random(1);
  std::vector<Row> rows = RandomRows(&random, false);
  uint64_t duplicates = 0;
  const Trace expected = Build(rows, &duplicates);
  EXPECT_EQ(duplicates, 0);
  const size_t once = rows.size();
  for (size_t i = 0; i < 10; ++i) rows.push_back(rows[i]);
  rows.back().operation.end_ns = kNoTime;  // seen while it ran
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.Below(i)]);
  const Trace shuffled = Build(rows, &duplicates);
  EXPECT_EQ(duplicates, 10);
  ASSERT_EQ(shuffled.operations.size(), once);
  for (size_t i = 0; i < once; ++i) {
    EXPECT_EQ(shuffled.operations[i].enqueue_ns, expected.operations[i].enqueue_ns);
    EXPECT_EQ(shuffled.operations[i].end_ns, expected.operations[i].end_ns);
  }
  EXPECT_EQ(shuffled.first_operation, expected.first_operation);
}

TEST(TraceBuilderTest, CountsWhatItCannotKeep) {
  TraceBuilder builder("job", {.max_operations = 1});
  const int32_t rank = builder.AddRank({.rank = 0});
  const int32_t group = builder.AddCommunicator("world", "", 2);
  builder.AddMember(group, 0, rank);
  EXPECT_FALSE(builder.Add(rank, {.enqueue_ns = 5, .start_ns = 9, .end_ns = 7, .communicator = group}));
  EXPECT_TRUE(builder.Add(rank, {.enqueue_ns = 5, .start_ns = 7, .end_ns = 9, .communicator = group}));
  EXPECT_FALSE(builder.Add(rank, {.enqueue_ns = 6, .start_ns = 7, .end_ns = 9, .communicator = group}));
  const Trace trace = builder.Build();
  EXPECT_EQ(trace.lost_records, 2);
  EXPECT_EQ(trace.missing_ranks, std::vector<int32_t>{1}) << "the group spans the job";
}

// The same by a map.
TEST(OperationInstancesTest, AgreeWithAMapOfRecords) {
  for (const bool wild : {false, true}) {
    Random random(7);
    uint64_t duplicates = 0;
    const Trace trace = Build(RandomRows(&random, wild), &duplicates);
    const OperationInstances matched = MatchOperations(trace);
    std::map<std::tuple<int32_t, int32_t, uint64_t>, std::vector<uint32_t>> expected;  // source, destination, sequence
    for (size_t i = 0; i < trace.operations.size(); ++i) {
      const TraceOperation& operation = trace.operations[i];
      const int32_t rank = matched.rank_of[i];
      const bool sends = operation.kind == OperationKind::kSend;
      const int32_t source = !IsSendOrRecv(operation.kind) ? -1 : sends ? rank : operation.peer;
      const int32_t destination = !IsSendOrRecv(operation.kind) ? -1 : sends ? operation.peer : rank;
      expected[{source, destination, operation.sequence}].push_back(static_cast<uint32_t>(i));
    }
    ASSERT_EQ(matched.instances.size(), expected.size());
    size_t number = 0;
    for (const auto& [key, members] : expected) {
      const OperationInstance& instance = matched.instances[number];
      const OperationChannel& channel = matched.channels[static_cast<size_t>(instance.channel)];
      EXPECT_EQ(std::make_tuple(channel.source, channel.destination, instance.sequence), key);
      const auto found = matched.MembersOf(instance);
      EXPECT_EQ(std::vector<uint32_t>(found.begin(), found.end()), members);
      for (const uint32_t member : members) EXPECT_EQ(matched.instance_of[member], number);
      const size_t size = channel.collective() ? 3 : 2;
      EXPECT_EQ(MissingMembers(trace, matched, instance).size(), size - members.size());
      EXPECT_EQ(matched.Complete(instance, trace), members.size() == size);
      ++number;
    }
  }
}

}  // namespace
}  // namespace lockstep
