#include "detector/model/trace_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/thread_executor.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/trace.h"
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

// Of two stages one left no records, and no size of the group is known.
TEST(TraceBuilderTest, WhomARankSendsToIsAMemberWhoeverItIs) {
  constexpr int32_t kPeer = 3, kNobody = 1000;
  TraceBuilder builder("job", {.max_ranks = 100});
  const int32_t rank = builder.AddRank({.rank = 0});
  const int32_t group = builder.AddCommunicator("pipeline", "", 0);
  builder.AddMember(group, 1, rank);
  int64_t now_ns = 0;
  for (const int32_t peer : {kPeer, kNobody}) {
    ++now_ns;
    EXPECT_TRUE(builder.Add(rank, {.enqueue_ns = now_ns,
                                   .start_ns = now_ns,
                                   .end_ns = now_ns + 1,
                                   .communicator = group,
                                   .peer = peer,
                                   .kind = OperationKind::kSend}));
  }
  const Trace trace = builder.Build();
  EXPECT_EQ(trace.communicators[0].members, (std::vector<int32_t>{-1, 0, -1, -1}));
  EXPECT_EQ(trace.operations[0].peer, kPeer);
  EXPECT_EQ(trace.operations[1].peer, -1) << "more than there can be";
}

using ChannelKey = std::tuple<int32_t, int32_t>;  // communicator ranks of a Send/Recv; -1 = collectives

ChannelKey ChannelOf(const TraceOperation& operation, int32_t rank) {
  if (!IsSendOrRecv(operation.kind)) return {-1, -1};
  return operation.kind == OperationKind::kSend ? ChannelKey(rank, operation.peer) : ChannelKey(operation.peer, rank);
}

// Of one rank, by maps: above the highest number so far, some number in between is nowhere among its records.
std::vector<std::pair<uint32_t, uint32_t>> HolesOf(const Trace& trace, size_t rank) {
  std::map<ChannelKey, std::set<uint64_t>> recorded;
  const auto key_of = [&](size_t i) { return ChannelOf(trace.operations[i], static_cast<int32_t>(rank)); };
  const size_t begin = trace.first_operation[rank], end = trace.first_operation[rank + 1];
  for (size_t i = begin; i < end; ++i) recorded[key_of(i)].insert(trace.operations[i].sequence);
  std::vector<std::pair<uint32_t, uint32_t>> holes;
  std::map<ChannelKey, size_t> highest;
  for (size_t i = begin; i < end; ++i) {
    const uint64_t sequence = trace.operations[i].sequence;
    const auto [it, added] = highest.try_emplace(key_of(i), i);
    const uint64_t before = trace.operations[it->second].sequence;
    if (added || sequence < before) continue;
    const std::set<uint64_t>& of_channel = recorded[key_of(i)];
    const auto between = std::distance(of_channel.find(before), of_channel.find(sequence));
    if (sequence > before && static_cast<uint64_t>(between) < sequence - before) holes.emplace_back(it->second, i);
    it->second = i;
  }
  return holes;
}

// With and without wild sequence numbers, matched at once and in parts of the ranks.
class OperationInstancesTest : public testing::TestWithParam<std::tuple<bool, size_t>> {
 protected:
  void SetUp() override {
    const auto& [wild, lanes] = GetParam();
    Random random(7);
    uint64_t duplicates = 0;
    trace_ = Build(RandomRows(&random, wild), &duplicates);
    ThreadExecutor executor(lanes);
    matched_ = MatchOperations(trace_, &executor);
  }

  Trace trace_;
  OperationInstances matched_;
};

TEST_P(OperationInstancesTest, AgreeWithAMapOfRecords) {
  std::map<std::pair<ChannelKey, uint64_t>, std::vector<uint32_t>> expected;  // by channel, sequence
  for (size_t i = 0; i < trace_.operations.size(); ++i) {
    const TraceOperation& operation = trace_.operations[i];
    expected[{ChannelOf(operation, matched_.rank_of[i]), operation.sequence}].push_back(static_cast<uint32_t>(i));
  }
  ASSERT_EQ(matched_.instances.size(), expected.size());
  size_t number = 0;
  for (const auto& [key, members] : expected) {
    const OperationInstance& instance = matched_.instances[number];
    const OperationChannel& channel = matched_.channels[static_cast<size_t>(instance.channel)];
    EXPECT_EQ(std::make_pair(ChannelKey(channel.source, channel.destination), instance.sequence), key);
    const auto found = matched_.MembersOf(instance);
    EXPECT_EQ(std::vector<uint32_t>(found.begin(), found.end()), members);
    for (const uint32_t member : members) EXPECT_EQ(matched_.instance_of[member], number);
    const size_t size = channel.collective() ? 3 : 2;
    EXPECT_EQ(MissingMembers(trace_, matched_, instance).size(), size - members.size());
    EXPECT_EQ(matched_.Complete(instance, trace_), members.size() == size);
    ++number;
  }
}

TEST_P(OperationInstancesTest, TellWhereRecordsAreMissing) {
  size_t holes = 0;
  for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
    std::vector<std::pair<uint32_t, uint32_t>> found;
    for (const SequenceHole& hole : matched_.HolesOf(rank)) found.emplace_back(hole.before, hole.after);
    EXPECT_EQ(found, HolesOf(trace_, rank));
    holes += found.size();
  }
  EXPECT_GT(holes, 0u);
}

INSTANTIATE_TEST_SUITE_P(WildAndLanes, OperationInstancesTest,
                         testing::Combine(testing::Bool(), testing::Values(size_t{1}, size_t{2}, size_t{3})));

// Two streams share a communicator: calls begin in another order than that of their numbers.
TEST(OperationInstances, NumbersThatComeLateLeaveNoHole) {
  TraceBuilder builder("job");
  const int32_t rank = builder.AddRank({.rank = 0});
  const int32_t group = builder.AddCommunicator("dp", "", 1);
  builder.AddMember(group, 0, rank);
  int64_t now_ns = 0;
  for (const uint64_t sequence : {1, 0, 3, 2, 6, 5, 4, 7, 10, 8, 11}) {  // 9 is lost
    now_ns += 1000;
    ASSERT_TRUE(builder.Add(rank, {.enqueue_ns = now_ns,
                                   .start_ns = now_ns,
                                   .end_ns = now_ns + 1500,
                                   .sequence = sequence,
                                   .communicator = group,
                                   .kind = OperationKind::kAllGather}));
  }
  const OperationInstances matched = MatchOperations(builder.Build());
  ASSERT_EQ(matched.holes.size(), 1u);
  EXPECT_EQ(matched.holes[0].before, 7u);
  EXPECT_EQ(matched.holes[0].after, 8u);
}

TEST(OperationInstances, OfNothingAreNone) {
  Trace trace;
  trace.first_operation = {0};
  const OperationInstances matched = MatchOperations(trace);
  EXPECT_TRUE(matched.instances.empty());
  EXPECT_TRUE(matched.holes.empty());
}

}  // namespace
}  // namespace lockstep
