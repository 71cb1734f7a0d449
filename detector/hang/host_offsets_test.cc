#include "detector/hang/host_offsets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/hang/trace_frontier.h"
#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "detector/testing/scripted_job.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// By communicator and sequence: earliest and latest end, in common time.
using Ends = std::map<std::pair<int32_t, uint64_t>, std::pair<int64_t, int64_t>>;

Ends EndsOf(const Trace& trace, const HostOffsets& offsets) {
  Ends ends;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto host = static_cast<size_t>(trace.ranks[rank].host);
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      if (!operation.finished() || !IsSynchronous(operation.kind)) continue;
      const int64_t end_ns = operation.end_ns - offsets.offset_ns[host];
      const auto found = ends.try_emplace({operation.communicator, operation.sequence}, end_ns, end_ns).first;
      found->second.first = std::min(found->second.first, end_ns);
      found->second.second = std::max(found->second.second, end_ns);
    }
  }
  return ends;
}

TEST(HostOffsets, BringAllMembersOfEveryCollectiveTogether) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    ScriptedJob job = RandomJob(2, 2, 2, 3, random);
    job.host_stops_at[random.Below(job.programs.size())] = 1 + random.Below(20);
    const ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
    const Frontier frontier = FrontierOf(run.trace);
    const HostOffsets offsets = AlignHosts(frontier);
    for (const auto& [key, ends] : EndsOf(run.trace, offsets)) {
      const auto& members = run.trace.communicators[static_cast<size_t>(key.first)].members;
      bool together = true;
      for (const int32_t member : members) {
        const auto host = static_cast<size_t>(run.trace.ranks[static_cast<size_t>(member)].host);
        together = together && offsets.island[host] == offsets.island[static_cast<size_t>(members[0])];
      }
      EXPECT_TRUE(together) << "seed " << seed << " communicator " << key.first;
      EXPECT_EQ(ends.first, ends.second) << "seed " << seed << " communicator " << key.first;
    }
  }
}

TEST(HostOffsets, HostsThatNeverMetAreOnIslands) {
  Random random(1);
  ScriptedJob job{.communicators = {{0, 1}, {2, 3}},
                  .programs = std::vector<std::vector<ScriptedCall>>(4),
                  .host_stops_at = std::vector<size_t>(4, ScriptedJob::kNever),
                  .gpu_stops_at = std::vector<size_t>(4, ScriptedJob::kNever)};
  for (size_t rank = 0; rank < 4; ++rank) job.programs[rank] = {{.communicator = static_cast<int32_t>(rank / 2)}};
  const ScriptedRun run = RunScript(job, ScriptedRecords::kFull, random);
  const HostOffsets offsets = AlignHosts(FrontierOf(run.trace));
  EXPECT_EQ(offsets.island, (std::vector<int32_t>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace lockstep
