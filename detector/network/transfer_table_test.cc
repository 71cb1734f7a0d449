// Transfer times by path where recordings do not tell how large calls are.

#include "detector/network/transfer_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/steps/step_finder.h"

namespace lockstep {
namespace {

constexpr int32_t kGroups = 6;
constexpr int32_t kMembers = 4;
constexpr int32_t kSteps = 12;
constexpr int64_t kMicro = 1000;
constexpr int64_t kForwardNs = 1'000'000 * kMicro, kBackwardNs = 350'000 * kMicro;  // from begin to begin
constexpr int64_t kGradientsNs = 150'000 * kMicro, kLossNs = 25 * kMicro;

// Each group reduces gradients and then a loss, once per step; one of them takes `slowness` times as long for the
// gradients. Nobody tells how many bytes it were.
Trace Job(double slowness) {
  TraceBuilder builder("job");
  int64_t now_ns = 0;
  std::vector<int32_t> ranks, groups;
  for (int32_t rank = 0; rank < kGroups * kMembers; ++rank) {
    ranks.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
    if (rank % kMembers == 0) groups.push_back(builder.AddCommunicator(absl::StrCat("dp", rank), "", kMembers));
    builder.AddMember(groups.back(), rank % kMembers, ranks.back());
  }
  for (int32_t step = 0; step < kSteps; ++step) {
    for (const bool of_loss : {false, true}) {
      now_ns += (of_loss ? kBackwardNs : kForwardNs);
      for (int32_t rank = 0; rank < kGroups * kMembers; ++rank) {
        const double factor = rank / kMembers == 2 && !of_loss ? slowness : 1;
        const auto takes_ns = static_cast<int64_t>(factor * static_cast<double>(of_loss ? kLossNs : kGradientsNs));
        builder.Add(ranks[static_cast<size_t>(rank)], {.start_ns = now_ns,
                                                       .end_ns = now_ns + takes_ns,
                                                       .sequence = static_cast<uint64_t>(2 * step + (of_loss ? 1 : 0)),
                                                       .communicator = groups[static_cast<size_t>(rank / kMembers)],
                                                       .kind = OperationKind::kAllReduce});
      }
    }
  }
  return builder.Build();
}

// By group, in the middle of the recording.
std::vector<float> Ratios(const Trace& trace) {
  const OperationInstances matched = MatchOperations(trace);
  const JobRoles roles = InferRoles(trace, matched);
  const TransferTable table = MeasureTransfers(trace, matched, roles, FindSteps(trace, matched, roles),
                                               std::vector<char>(trace.ranks.size(), 0));
  std::vector<float> ratios(table.paths.size());
  for (size_t path = 0; path < table.paths.size(); ++path) {
    const auto group = static_cast<size_t>(table.paths[path].ranks[0] / kMembers);
    ratios.at(group) = table.ratio[path * table.steps + table.steps / 2];
  }
  return ratios;
}

TEST(TransferTableTest, WithoutSizesLargeCallsAreNotComparedWithSmallOnes) {
  for (const double slowness : {1.0, 2.0}) {
    const std::vector<float> ratios = Ratios(Job(slowness));
    ASSERT_EQ(ratios.size(), static_cast<size_t>(kGroups));
    for (size_t group = 0; group < ratios.size(); ++group) {
      EXPECT_NEAR(ratios[group], group == 2 ? slowness : 1, 0.05) << group << " of " << slowness;
    }
  }
}

// Pairs of GPUs on hosts of their own, and one that spans two. Of each step one AllReduce, of a size that its batch
// decides; the first pair takes `slowness` times as long per byte as the others. What passes within a host takes any
// time, what passes between two takes what it takes.
TransferTable TableOfPairs(double slowness) {
  constexpr int32_t kPairs = 6;
  constexpr int32_t kCrossing = 2;  // pairs 4 and 5
  Random random(3);
  TraceBuilder builder("job");
  std::vector<int32_t> ranks, groups;
  for (int32_t rank = 0; rank < 2 * kPairs; ++rank) {
    const int32_t pair = rank / 2;
    const bool crosses = pair >= kPairs - kCrossing;
    const int32_t host = builder.AddHost(absl::StrCat("h", crosses ? kPairs + rank : pair));
    ranks.push_back(builder.AddRank({.rank = rank, .host = host}));
    if (rank % 2 == 0) groups.push_back(builder.AddCommunicator(absl::StrCat("tp", pair), "", 2));
    builder.AddMember(groups.back(), rank % 2, ranks.back());
  }
  for (int32_t step = 0; step < 2 * kSteps; ++step) {
    for (int32_t pair = 0; pair < kPairs; ++pair) {
      const bool crosses = pair >= kPairs - kCrossing;
      const double bytes = 64e6 * (1 + 0.15 * random.Unit());
      const double chance = crosses ? 1 : 0.5 + random.Unit();
      const auto takes_ns = static_cast<int64_t>(bytes * chance * (pair == 4 ? slowness : 1));
      for (int32_t member = 0; member < 2; ++member) {
        const int64_t now_ns = (step + 1) * kForwardNs;
        builder.Add(ranks[static_cast<size_t>(2 * pair + member)], {.start_ns = now_ns,
                                                                    .end_ns = now_ns + takes_ns,
                                                                    .sequence = static_cast<uint64_t>(step),
                                                                    .bytes = static_cast<uint64_t>(bytes),
                                                                    .communicator = groups[static_cast<size_t>(pair)],
                                                                    .kind = OperationKind::kAllReduce});
      }
    }
  }
  const Trace trace = builder.Build();
  const OperationInstances matched = MatchOperations(trace);
  const JobRoles roles = InferRoles(trace, matched);
  return MeasureTransfers(trace, matched, roles, FindSteps(trace, matched, roles),
                          std::vector<char>(trace.ranks.size(), 0));
}

TEST(TransferTableTest, WhereNoTwoSizesAreEqualSizesAlikeAreComparedPerByte) {
  const TransferTable table = TableOfPairs(3);
  ASSERT_EQ(table.paths.size(), 6u);
  for (size_t path = 0; path < table.paths.size(); ++path) {
    if (!table.paths[path].crosses_hosts) continue;
    EXPECT_FALSE(table.paths[path].alone);
    const double expected = table.paths[path].ranks[0] == 8 ? 3 : 1;
    for (size_t step = 1; step < table.steps; ++step) {
      EXPECT_NEAR(table.ratio[path * table.steps + step], expected, 0.35 * expected) << path << " in " << step;
    }
  }
}

TEST(TransferTableTest, WhatPassesWithinHostsHasANoiseOfItsOwn) {
  for (const TransferPath& path : TableOfPairs(1).paths) {
    if (path.crosses_hosts) {
      EXPECT_LT(path.noise, 0.05);
    } else {
      EXPECT_GT(path.noise, 0.15);
    }
  }
}

// Pairs of hosts. In each step all reduce, and then the first of each pair sends to the second, whose Recv comes when
// the data has come in every third step, else in the middle of the transfer or right at its begin. Pair 1 takes thrice
// as long.
TransferTable TableOfBufferedSends() {
  constexpr int32_t kPairs = 4;
  constexpr int64_t kSendNs = 3'000 * kMicro;
  TraceBuilder builder("job");
  std::vector<int32_t> ranks, pairs;
  const int32_t world = builder.AddCommunicator("world", "", 2 * kPairs);
  for (int32_t rank = 0; rank < 2 * kPairs; ++rank) {
    ranks.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
    if (rank % 2 == 0) pairs.push_back(builder.AddCommunicator(absl::StrCat("pp", rank), "", 2));
    builder.AddMember(world, rank, ranks.back());
    builder.AddMember(pairs.back(), rank % 2, ranks.back());
  }
  for (int32_t step = 0; step < kSteps; ++step) {
    const auto number = static_cast<uint64_t>(step);
    const int64_t begin_ns = (step + 1) * kForwardNs, sent_ns = begin_ns + 2 * kGradientsNs;
    for (int32_t rank = 0; rank < 2 * kPairs; ++rank) {
      const int32_t handle = ranks[static_cast<size_t>(rank)], pair = pairs[static_cast<size_t>(rank / 2)];
      builder.Add(handle, {.start_ns = begin_ns,
                           .end_ns = begin_ns + kGradientsNs,
                           .sequence = number,
                           .bytes = 256 << 20,
                           .communicator = world,
                           .kind = OperationKind::kAllReduce});
      const int64_t takes_ns = rank / 2 == 1 ? 3 * kSendNs : kSendNs;
      const int64_t came_ns = sent_ns + takes_ns * (step % 3) / 2;
      const bool sends = rank % 2 == 0;
      builder.Add(handle, {.start_ns = sends ? sent_ns : came_ns,
                           .end_ns = sends ? sent_ns + takes_ns : std::max(sent_ns + takes_ns, came_ns + 3 * kMicro),
                           .sequence = number,
                           .bytes = 100 << 20,
                           .communicator = pair,
                           .peer = sends ? 1 : 0,
                           .kind = sends ? OperationKind::kSend : OperationKind::kRecv});
    }
  }
  const Trace trace = builder.Build();
  const OperationInstances matched = MatchOperations(trace);
  const JobRoles roles = InferRoles(trace, matched);
  return MeasureTransfers(trace, matched, roles, FindSteps(trace, matched, roles),
                          std::vector<char>(trace.ranks.size(), 0));
}

TEST(TransferTableTest, WhereRecvFindWhatHadComeSendAloneTell) {
  const TransferTable table = TableOfBufferedSends();
  size_t pairs = 0;
  for (size_t path = 0; path < table.paths.size(); ++path) {
    if (!table.paths[path].point_to_point) continue;
    ++pairs;
    const double expected = table.paths[path].ranks[0] / 2 == 1 ? 3 : 1;
    for (size_t step = 1; step + 1 < table.steps; ++step) {
      EXPECT_NEAR(table.ratio[path * table.steps + step], expected, 0.01) << path << " in " << step;
    }
  }
  EXPECT_EQ(pairs, 4u);
}

}  // namespace
}  // namespace lockstep
