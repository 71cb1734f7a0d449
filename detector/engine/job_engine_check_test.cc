// Checks the checks: an engine or data broken on purpose must show in the figures. What cannot fail proves nothing.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/engine/job_engine.h"
#include "detector/model/input.h"
#include "detector/testing/job_generator.h"
#include "detector/testing/job_player.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr uint64_t kSeeds = 10;

// Gives the durations of each operation to its members at random: who came last can no longer be told.
void ShuffleDurations(Random* random, HostReport* report) {
  std::map<std::pair<CommunicatorId, uint64_t>, std::vector<Operation*>> operations;
  for (RankView& rank : report->ranks) {
    for (CommunicatorView& communicator : rank.communicators) {
      for (Operation& operation : communicator.operations) {
        operations[{communicator.id, operation.sequence}].push_back(&operation);
      }
    }
  }
  for (auto& [key, members] : operations) {
    for (size_t i = members.size(); i > 1; --i) {
      Operation& one = *members[i - 1];
      Operation& other = *members[random->Below(i)];
      std::swap(one.start_ns, other.start_ns);
      std::swap(one.end_ns, other.end_ns);
    }
  }
}

TEST(JobEngineCheckTest, RecallComesFromTheDurations) {
  uint64_t found = 0, found_shuffled = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const JobGeneratorOptions job{.noise = {.own_cv = 0.1}, .slow = {{2, 10, kForever, 1.5}}, .seed = seed};
    found += Play({.job = job, .seconds = 40}).causes.contains("slow:node-0/rank2") ? 1 : 0;
    Random random(seed);
    const auto shuffle = [&random](double, HostReport* report) { ShuffleDurations(&random, report); };
    // Steps take longer all the same: that the job has changed may be said, not who did it.
    const auto causes = Play({.job = job, .seconds = 40, .alter = shuffle}).causes;
    found_shuffled += std::any_of(causes.begin(), causes.end(),
                                  [](const auto& cause) { return cause.first.find("node-") != std::string::npos; })
                          ? 1
                          : 0;
  }
  EXPECT_EQ(found, kSeeds);
  EXPECT_LE(found_shuffled * 5, kSeeds);
}

}  // namespace
}  // namespace lockstep
