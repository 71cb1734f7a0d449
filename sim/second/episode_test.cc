// What an episode promises: equal seeds, equal bytes; a truth that the rows bear out; clocks, losses and names as told.

#include "sim/second/episode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/model/trace.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/ops_csv_reader.h"
#include "nlohmann/json.hpp"
#include "sim/second/layout.h"
#include "sim/second/planting.h"
#include "sim/second/player.h"
#include "sim/second/recording.h"
#include "sim/second/truth.h"
#include "sim/second/world.h"

namespace lockstep::second {
namespace {

World SmallWorld() {
  World world;
  world.seed = 21;
  world.shape.tensor = 4;
  world.shape.data = 8;
  world.shape.microbatches = 2;
  world.calendar.steps = 6;
  return world;
}

// The first world of that kind that is small enough for a quick test.
SecondEpisode SmallEpisode(const char* kind, uint64_t seed) {
  const EpisodeKind& found = *FindKind(kind);
  while (DrawWorld(seed, found.need).shape.ranks() > 32) ++seed;
  return MakeSecondEpisode(seed, found);
}

bool SameRows(const Recording& one, const Recording& two) {
  return std::equal(one.rows.begin(), one.rows.end(), two.rows.begin(), two.rows.end(), [](const Row& a, const Row& b) {
    return a.host == b.host && a.group == b.group && a.cells.rank == b.cells.rank &&
           a.cells.operation.start_ns == b.cells.operation.start_ns &&
           a.cells.operation.end_ns == b.cells.operation.end_ns && a.cells.taken_ns == b.cells.taken_ns;
  });
}

TEST(EpisodeTest, WhereEveryHostIsHiddenTheFaultStrikesOneAllTheSame) {
  constexpr uint64_t kAllHidden = 17'000'045;  // all hosts of this world are silent, late or without begins
  const SecondEpisode episode = MakeSecondEpisode(kAllHidden, *FindKind("compute_sometimes"));
  ASSERT_EQ(episode.truth.faults.size(), 1U);
  EXPECT_EQ(episode.truth.faults[0].hosts.size(), 1U);
}

TEST(EpisodeTest, EqualSeedsGiveEqualEpisodes) {
  const SecondEpisode one = SmallEpisode("compute", 5);
  const SecondEpisode two = SmallEpisode("compute", 5);
  EXPECT_TRUE(SameRows(one.recording, two.recording));
  EXPECT_EQ(TruthText(one.truth), TruthText(two.truth));
  EXPECT_NE(TruthText(one.truth), TruthText(SmallEpisode("compute", 500).truth));
}

TEST(EpisodeTest, KindsHaveNamesOfTheirOwn) {
  std::set<absl::string_view> names;
  for (const EpisodeKind& kind : EpisodeKinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  EXPECT_EQ(FindKind("no such kind"), nullptr);
}

TEST(EpisodeTest, WorldsHaveWhatTheirFaultNeeds) {
  for (const EpisodeKind& kind : EpisodeKinds()) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const World world = DrawWorld(seed, kind.need);
      EXPECT_GE(world.shape.hosts(), kind.need.least_hosts) << kind.name;
      if (kind.need.tensor) {
        EXPECT_GT(world.shape.tensor, 1) << kind.name;
      }
      if (kind.need.expert) {
        EXPECT_GT(world.shape.expert, 1) << kind.name;
      }
      if (kind.need.four_leaves) {
        EXPECT_GE(world.shape.hosts(), 4 * world.network.leaf_hosts);
      }
      EXPECT_LE(world.shape.tensor, world.shape.gpus_per_host);
    }
  }
}

TEST(EpisodeTest, CulpritsLeaveRecords) {
  for (const EpisodeKind& kind : EpisodeKinds()) {
    for (uint64_t seed = 100; seed < 106; ++seed) {
      const World world = DrawWorld(seed, kind.need);
      const std::vector<int> silent = SilentHosts(world);
      for (const Fault& fault : Plant(kind, world, Layout(world), 0)) {
        if (fault.kind == FaultKind::kLeafSlow || fault.kind == FaultKind::kDeadlock) continue;
        for (const int host : fault.hosts) EXPECT_FALSE(std::binary_search(silent.begin(), silent.end(), host));
      }
    }
  }
}

TEST(EpisodeTest, TheTruthOfASlowGpuIsWhatItCosts) {
  const SecondEpisode episode = SmallEpisode("compute", 40);
  ASSERT_EQ(episode.truth.faults.size(), 1u);
  const TrueFault& fault = episode.truth.faults[0];
  EXPECT_EQ(fault.hosts.size(), 1u);
  EXPECT_GT(fault.cost.slowdown_fraction, 0);
  const double with = episode.truth.step_seconds_median;
  EXPECT_NEAR(fault.cost.seconds_per_step / with, fault.cost.slowdown_fraction, 0.25 * fault.cost.slowdown_fraction);
}

TEST(EpisodeTest, WhatCostsNothingMayBePassedOver) {
  for (const char* const kind : {"stage", "regression"}) {
    const SecondEpisode episode = SmallEpisode(kind, 3);
    EXPECT_TRUE(episode.truth.faults[0].silence_ok) << kind;
    EXPECT_FALSE(episode.truth.faults[0].machine_fault) << kind;
    EXPECT_TRUE(episode.truth.faults[0].hosts.empty()) << kind;
  }
}

TEST(EpisodeTest, HangsSayWhenTheRingsWereRead) {
  for (const char* const kind : {"hang_program", "hang_kernel", "hang_ring", "mismatch", "deadlock", "dead_host"}) {
    const SecondEpisode episode = SmallEpisode(kind, 9);
    EXPECT_TRUE(episode.truth.hang) << kind;
    std::set<int> told, all;
    for (const Row& row : episode.recording.rows) {
      all.insert(row.host);
      if (row.cells.taken_ns != kNoTime) told.insert(row.host);
    }
    const size_t dead = std::string(kind) == "dead_host" ? 1 : 0;
    EXPECT_EQ(told.size() + dead, all.size()) << kind;
  }
}

TEST(EpisodeTest, WhoDiesWhereAllStandMayNotBeToldFromTheOthers) {
  int told = 0, not_told = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const SecondEpisode episode = SmallEpisode("dead_process", seed);
    const TrueFault& fault = episode.truth.faults[0];
    const bool transfer_will_do =
        std::find(fault.classes.begin(), fault.classes.end(), "hang_in_communication") != fault.classes.end();
    EXPECT_EQ(transfer_will_do, !fault.also_ok.empty()) << seed;
    (fault.also_ok.empty() ? told : not_told) += 1;
  }
  EXPECT_GT(told, 0);
  EXPECT_GT(not_told, 0);
}

TEST(EpisodeTest, TruthIsWrittenAsOthersReadIt) {
  const auto json = nlohmann::json::parse(TruthText(SmallEpisode("nic_tx", 2).truth));
  for (const char* const key :
       {"name", "seed", "ranks", "steps", "hang", "machine_fault", "silence_ok", "layout", "step_seconds_median",
        "healthy_step_seconds_median", "healthy_steps_over_1.3", "silent_hosts", "faults", "host_names"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["faults"][0]["kind"], "nic_tx_slow");
  EXPECT_TRUE(json["faults"][0]["cost"].contains("slowdown_fraction_affected"));
}

TEST(RecordingTest, ClocksOfHostsAreShiftedAsAWhole) {
  World world = SmallWorld();
  world.recorder.drift_ppm = 0;
  const Layout layout(world);
  const Playback playback = Play(world, layout, {});
  const Recording near = Record(world, layout, playback);
  world.recorder.clock_spread_ns *= 10;
  const Recording far = Record(world, layout, playback);
  ASSERT_EQ(near.rows.size(), far.rows.size());
  std::map<int, std::set<int64_t>> shifts;
  for (size_t i = 0; i < near.rows.size(); ++i) {
    shifts[near.rows[i].host].insert(far.rows[i].cells.operation.end_ns - near.rows[i].cells.operation.end_ns);
  }
  EXPECT_EQ(shifts.size(), 4u);
  for (const auto& [host, all] : shifts) EXPECT_EQ(all.size(), 1u) << host;
  EXPECT_NE(*shifts[0].begin(), *shifts[1].begin());
}

TEST(RecordingTest, SilentHostsAndUnrecordedGroupsLeaveNothing) {
  World world = SmallWorld();
  world.recorder.silent_hosts = 1;
  world.recorder.tensor_recorded = false;
  const Layout layout(world);
  const Recording recording = Record(world, layout, Play(world, layout, {}));
  const int silent = SilentHosts(world)[0];
  for (const Row& row : recording.rows) {
    EXPECT_NE(row.host, silent);
    EXPECT_NE(layout.group(row.group).role, Role::kTensor);
  }
  EXPECT_FALSE(recording.rows.empty());
}

TEST(RecordingTest, LossesComeInBursts) {
  World world = SmallWorld();
  world.calendar.steps = 20;
  const Layout layout(world);
  const Playback playback = Play(world, layout, {});
  const size_t all = Record(world, layout, playback).rows.size();
  world.recorder.lost_share = 0.1;
  const size_t left = Record(world, layout, playback).rows.size();
  EXPECT_LT(left, all * 95 / 100);
  EXPECT_GT(left, all * 80 / 100);
}

TEST(RecordingTest, HostsWithoutBeginsKnowOnlyTheCall) {
  World world = SmallWorld();
  world.recorder.host_begin_share = 0.3;
  const Layout layout(world);
  const std::vector<int> blind = HostsWithoutBegins(world);
  ASSERT_EQ(blind.size(), 1u);
  for (const Row& row : Record(world, layout, Play(world, layout, {})).rows) {
    if (row.host == blind[0]) {
      EXPECT_EQ(row.cells.operation.start_ns, row.cells.operation.enqueue_ns);
    }
  }
}

TEST(RecordingTest, HostNamesAreTheirOwn) {
  World world = SmallWorld();
  world.shape.data = 256;
  for (int style = 0; style < 5; ++style) {
    world.recorder.host_name_style = style;
    const std::vector<std::string> names = HostNames(world);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 128u);
    EXPECT_FALSE(std::is_sorted(names.begin(), names.end()));
  }
}

TEST(RecordingTest, TheFileSaysWhatTheEvidenceSays) {
  SecondEpisode episode = SmallEpisode("healthy_ugly", 11);
  const std::string folder = testing::TempDir();
  ASSERT_TRUE(WriteSecondEpisode(episode, folder, ".zst").ok());
  auto source = ByteSource::Open(absl::StrCat(folder, "/ops.csv.zst"));
  ASSERT_TRUE(source.ok());
  EvidenceBuilder builder;
  ASSERT_TRUE(ReadOpsCsv(**source, "", builder).status.ok());
  const std::vector<JobInput> jobs = builder.Finish();
  ASSERT_EQ(jobs.size(), 1u);
  const Trace& read = jobs[0].evidence.trace;
  const JobEvidence direct = EvidenceOf(episode.recording);
  ASSERT_EQ(read.operations.size(), direct.trace.operations.size());
  EXPECT_EQ(read.hosts.size(), direct.trace.hosts.size());
  for (size_t i = 0; i < read.operations.size(); ++i) {
    EXPECT_EQ(read.operations[i].start_ns, direct.trace.operations[i].start_ns);
    EXPECT_EQ(read.operations[i].enqueue_ns, direct.trace.operations[i].enqueue_ns);
    EXPECT_EQ(read.operations[i].sequence, direct.trace.operations[i].sequence);
  }
}

}  // namespace
}  // namespace lockstep::second
