#include "sim/capture/trace_agents.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int64_t kForEver = int64_t{1} << 60;

Episode SmallJob() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 5;
  job.workload.microbatches = 4;
  return Simulate(job, {}, 5);
}

size_t Operations(const PullAnswer& answer) {
  size_t operations = 0;
  for (const PulledOperations& batch : answer.pulled) operations += batch.operations.size();
  return operations;
}

size_t Finished(const Trace& trace, int32_t host) {
  size_t finished = 0;
  for (size_t r = 0; r < trace.ranks.size(); ++r) {
    if (trace.ranks[r].host != host) continue;
    for (const TraceOperation& operation : trace.OperationsOf(r)) finished += operation.finished() ? 1 : 0;
  }
  return finished;
}

TEST(TraceAgentsTest, WhoeverIsAskedForEverythingAnswersEverything) {
  const Episode episode = SmallJob();
  const Trace& trace = episode.evidence.trace;
  const TraceAgents agents(trace);
  uint64_t bytes = 0;
  const PullAnswer answer = agents.Answer({.host = trace.hosts[1], .id = 9, .newest_ns = kForEver}, 1, &bytes);
  EXPECT_EQ(answer.request, 9u);
  EXPECT_EQ(Operations(answer), Finished(trace, 1));
  EXPECT_EQ(answer.left_out, 0u);
  EXPECT_GT(bytes, 8 * Operations(answer));
  EXPECT_LT(bytes, 40 * Operations(answer));
}

TEST(TraceAgentsTest, WhatDoesNotFitIsTheOldestAndCounted) {
  const Episode episode = SmallJob();
  const Trace& trace = episode.evidence.trace;
  const TraceAgents agents(trace);
  uint64_t bytes = 0;
  const PullAnswer all = agents.Answer({.host = trace.hosts[0], .newest_ns = kForEver}, 1, &bytes);
  uint64_t few_bytes = 0;
  const PullAnswer few =
      agents.Answer({.host = trace.hosts[0], .newest_ns = kForEver, .max_bytes = bytes / 3}, 1, &few_bytes);
  EXPECT_LE(few_bytes, bytes / 3);
  EXPECT_GT(few_bytes, bytes / 20);
  EXPECT_EQ(Operations(few) + few.left_out, Operations(all));
}

TEST(TraceAgentsTest, OnlyWhatWasAskedForIsAnswered) {
  const Episode episode = SmallJob();
  const Trace& trace = episode.evidence.trace;
  const TraceAgents agents(trace);
  const Roster roster = agents.MakeRoster(1);
  ASSERT_EQ(roster.ranks().size(), trace.ranks.size());
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(roster.SlotOfRank(trace.ranks[2].rank))];
  const CommunicatorId id = roster.communicators()[static_cast<size_t>(rank.memberships.front().communicator_slot)].id;
  PullRequest request{.host = trace.hosts[static_cast<size_t>(trace.ranks[2].host)], .newest_ns = kForEver};
  request.ranks = {rank.rank};
  request.communicators = {id};
  uint64_t bytes = 0;
  const PullAnswer answer = agents.Answer(request, 1, &bytes);
  ASSERT_FALSE(answer.pulled.empty());
  for (const PulledOperations& batch : answer.pulled) {
    EXPECT_EQ(batch.rank, rank.rank);
    EXPECT_EQ(batch.communicator, id);
    EXPECT_EQ(batch.process_start_ticks, rank.process_start_ticks);
  }
  // Earlier on there was less.
  EXPECT_LT(Operations(agents.Answer(request, 0.5, &bytes)), Operations(answer));
}

}  // namespace
}  // namespace lockstep
