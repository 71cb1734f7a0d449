// What the simulator says to a collector, as the collector hears it: every report converts whole, and the online
// detector names the rank at which a simulated job got stuck.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "collector/replay/replay.h"
#include "detector/engine/job_engine.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "proto/capture.pb.h"
#include "sim/capture/simulated_capture.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

struct Replayed {
  std::string last_wall;                   // of the last conclusion
  std::vector<std::string> last_verdicts;  // JSON
  ReplaySummary summary;
};

Replayed Replay(const Episode& episode) {
  Replayed replayed;
  Replayer replayer(JobEngineOptions(), [&](absl::string_view line) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.first != replayed.last_wall) replayed.last_verdicts.clear();
    replayed.last_wall = parts.first;
    replayed.last_verdicts.push_back(parts.second);
  });
  const absl::Status status =
      VisitCaptureEntries(episode, 1, [&](const wire::CaptureEntry& entry) { return replayer.Feed(entry); });
  EXPECT_TRUE(status.ok()) << status;
  replayed.summary = replayer.summary();
  return replayed;
}

JobSpec Job() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 10;
  job.recording.counters = true;
  return job;
}

TEST(SimulatedJobTest, EveryReportConverts) {
  const Replayed replayed = Replay(Simulate(Job(), {}, 1));
  EXPECT_GT(replayed.summary.inputs, 40u);
  EXPECT_EQ(replayed.summary.resets, 1u);
  EXPECT_EQ(replayed.summary.losses.unknown_enums, 0u);
  EXPECT_EQ(replayed.summary.losses.unknown_metrics, 0u);
  EXPECT_EQ(replayed.summary.losses.unranked_processes, 0u);
}

TEST(SimulatedJobTest, TheOnlineDetectorNamesTheRankAtWhichAJobGotStuck) {
  for (const FaultKind kind : {FaultKind::kNotEntered, FaultKind::kProcessDead}) {
    const FaultSpec fault{.kind = kind, .targets = {13}, .onset_step = 6};
    const Replayed replayed = Replay(Simulate(Job(), {&fault, 1}, 1));
    bool named = false;
    for (const std::string& line : replayed.last_verdicts) {
      const nlohmann::json verdict = nlohmann::json::parse(line);
      if (verdict.value("class", "") != Name(InfoOf(kind).verdict_class)) continue;
      named |= verdict["culprits"][0]["rank"] == 13;
    }
    EXPECT_TRUE(named) << InfoOf(kind).name;
  }
}

}  // namespace
}  // namespace lockstep
