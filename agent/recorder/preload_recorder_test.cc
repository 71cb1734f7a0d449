// Runs a program that calls NCCL (testing/nccl_exercise.cc, on testing/fake_nccl.cc) with the recorder preloaded, as
// two processes for two ranks, and reads the rings back.

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/recorder/preload_communicators.h"
#include "agent/recorder/preload_group.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/testing/ring_directory.h"

namespace lockstep::ring {
namespace {

constexpr int kRanks = 2;

std::string Artifact(const std::string& name) { return std::filesystem::absolute("agent/recorder/" + name); }

struct Finished {
  int exit_code = -1;
  std::string output;
};

Finished Shell(const std::string& command) {
  Finished run;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return run;
  char text[4096];
  while (fgets(text, sizeof(text), pipe) != nullptr) run.output += text;
  const int status = pclose(pipe);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

std::string Linked() { return Artifact("nccl_exercise_linked"); }
std::string Loaded() { return Artifact("nccl_exercise_loader") + " " + Artifact("libnccl_exercise.so"); }

// The rings of one recorded run, by rank.
class RecordedJob {
 public:
  RecordedJob(const std::string& program, const std::string& environment = "", const std::string& mode = "all") {
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string number = std::to_string(rank);
      const std::string arguments = " " + number + " " + mode;
      alone_.push_back(Shell(program + arguments));
      runs_.push_back(Shell(
          "env LOCKSTEP_RING_DIR=" + directory_.path() + " LD_PRELOAD=" + Artifact("liblockstep-preload.so") +
          " LOCKSTEP_JOB_ID=exercise RANK=" + number + " WORLD_SIZE=2 " + environment + " " + program + arguments));
    }
    for (const std::string& name : directory_.Files()) {
      auto bytes = std::make_unique<std::string>(ReadFile(directory_.path() + "/" + name));
      if (bytes->size() < sizeof(RingHeader)) continue;
      const int32_t rank = RingView(*bytes).header.rank;
      bytes_[rank] = std::move(bytes);
    }
  }

  const std::vector<Finished>& alone() const { return alone_; }
  const std::vector<Finished>& runs() const { return runs_; }
  size_t rings() const { return bytes_.size(); }
  RingView Ring(int rank) const { return RingView(*bytes_.at(rank)); }

 private:
  RingDirectory directory_;
  std::vector<Finished> alone_;
  std::vector<Finished> runs_;
  std::map<int, std::unique_ptr<std::string>> bytes_;
};

std::vector<OperationSlot> Operations(const RingView& ring) {
  std::vector<OperationSlot> operations;
  for (uint32_t i = 0; i < ring.header.operation_capacity; ++i) {
    if (ring.slots[i].state != 0) operations.push_back(ring.slots[i]);
  }
  return operations;
}

class PreloadRecorderTest : public ::testing::TestWithParam<bool> {
 protected:
  PreloadRecorderTest() : job_(GetParam() ? Linked() : Loaded()) {}
  void SetUp() override { ASSERT_EQ(job_.rings(), static_cast<size_t>(kRanks)) << job_.runs()[0].output; }

  const RecordedJob job_;
};

INSTANTIATE_TEST_SUITE_P(LinkedAndOpenedPrivately, PreloadRecorderTest, ::testing::Bool());

TEST_P(PreloadRecorderTest, TheProgramComputesWhatItComputesAlone) {
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(job_.alone()[rank].exit_code, 0) << job_.alone()[rank].output;
    EXPECT_EQ(job_.runs()[rank].exit_code, 0);
    EXPECT_EQ(job_.runs()[rank].output, job_.alone()[rank].output);
    EXPECT_FALSE(job_.runs()[rank].output.empty());
  }
}

TEST_P(PreloadRecorderTest, HeadersNameTheJobAndTheLibrary) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingHeader& header = job_.Ring(rank).header;
    EXPECT_EQ(header.recorder_kind, static_cast<uint32_t>(RecorderKind::kNcclPreload));
    EXPECT_EQ(header.library_version, 22105U);
    EXPECT_EQ(header.world_size, kRanks);
    EXPECT_STREQ(header.job, "exercise");
    EXPECT_EQ(header.state, static_cast<uint32_t>(RecorderState::kActive));
  }
}

TEST_P(PreloadRecorderTest, EveryOperationIsRecordedOnceWithHonestTiming) {
  // From reading nccl_exercise.cc.
  const std::map<OperationKind, int> expected = {{OperationKind::kAllReduce, 305},   {OperationKind::kBroadcast, 4},
                                                 {OperationKind::kReduce, 1},        {OperationKind::kAllGather, 1},
                                                 {OperationKind::kReduceScatter, 1}, {OperationKind::kSend, 3},
                                                 {OperationKind::kRecv, 3}};
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job_.Ring(rank);
    std::map<OperationKind, int> seen;
    for (const OperationSlot& slot : Operations(ring)) {
      ++seen[static_cast<OperationKind>(slot.kind)];
      EXPECT_EQ(slot.state, static_cast<uint8_t>(OperationState::kFinished));
      EXPECT_EQ(slot.timing_quality, static_cast<uint8_t>(TimingQuality::kHostEnqueue));
      EXPECT_EQ(slot.datatype_bytes, 4U);
      EXPECT_GT(slot.enqueued_at_ns, 0);
      EXPECT_LE(slot.enqueued_at_ns, slot.finished_at_ns);
    }
    EXPECT_EQ(seen, expected) << "rank " << rank;
    EXPECT_TRUE(ring.IsAccountingExact());
    EXPECT_EQ(ring.header.counters.lost, 0U);
    // The Broadcast inside Bcast, the second member of a communicator of this process alone, and the AllReduce on a
    // communicator that was made past the recorder.
    EXPECT_EQ(ring.header.counters.events_ignored, 3U);
  }
}

TEST_P(PreloadRecorderTest, PayloadsRootsAndSequencesOfTheFirstOperations) {
  struct Expected {
    OperationKind kind;
    uint64_t bytes;
    int32_t peer;
    uint64_t sequence;
  };
  for (int rank = 0; rank < kRanks; ++rank) {
    const Expected expected[] = {
        {OperationKind::kAllReduce, 64, -1, 1},  {OperationKind::kBroadcast, 32, 1, 2},
        {OperationKind::kBroadcast, 64, 0, 3},   {OperationKind::kReduce, 64, 1, 4},
        {OperationKind::kAllGather, 64, -1, 5},  {OperationKind::kReduceScatter, 64, -1, 6},
        {OperationKind::kSend, 64, 1 - rank, 1}, {OperationKind::kRecv, 64, 1 - rank, 1},
        {OperationKind::kSend, 64, 1 - rank, 2}, {OperationKind::kRecv, 64, 1 - rank, 2},
        {OperationKind::kSend, 64, 1 - rank, 3}, {OperationKind::kRecv, 64, 1 - rank, 3},
        {OperationKind::kAllReduce, 64, -1, 7},
    };
    const RingView ring = job_.Ring(rank);
    for (size_t i = 0; i < std::size(expected); ++i) {
      EXPECT_EQ(ring.slots[i].kind, static_cast<uint8_t>(expected[i].kind)) << i;
      EXPECT_EQ(ring.slots[i].bytes, expected[i].bytes) << i;
      EXPECT_EQ(ring.slots[i].peer, expected[i].peer) << i;
      EXPECT_EQ(ring.slots[i].sequence, expected[i].sequence) << i;
      const bool is_rooted = expected[i].peer >= 0 && IsCollective(expected[i].kind);
      EXPECT_EQ(ring.slots[i].flags, is_rooted ? kFlagRooted : 0) << i;
    }
    // What a group holds is taken when its outermost part ends.
    for (size_t i = 6; i < std::size(expected); ++i) {
      EXPECT_GE(ring.slots[i].finished_at_ns, ring.slots[std::size(expected) - 1].enqueued_at_ns) << i;
    }
  }
}

TEST_P(PreloadRecorderTest, MembersAgreeOnCommunicators) {
  std::map<uint64_t, std::set<int>> members;
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job_.Ring(rank);
    // World, the two of a group, two splits, and one of this process alone.
    ASSERT_EQ(ring.header.communicator_count, 6U);
    for (uint32_t i = 0; i < ring.header.communicator_count; ++i) {
      EXPECT_EQ(ring.communicators[i].size, kRanks);
      EXPECT_EQ(ring.communicators[i].enqueued, ring.communicators[i].finished);
      members[ring.communicators[i].id].insert(ring.communicators[i].rank);
    }
    EXPECT_EQ(ring.communicators[0].rank, rank);
    EXPECT_EQ(ring.communicators[2].rank, 1 - rank);
    // The first of the group and the first split were ended.
    const std::vector<uint32_t> ready = {1, 2, 1, 2, 1, 1};
    for (size_t i = 0; i < ready.size(); ++i) EXPECT_EQ(ring.communicators[i].ready, ready[i]) << i;
  }
  size_t complete = 0;
  for (const auto& [id, ranks] : members) complete += ranks.size() == kRanks ? 1 : 0;
  EXPECT_EQ(complete, 5U) << "all but those that each process has for itself";
  EXPECT_EQ(members.size(), 7U);
}

TEST(PreloadRecorderOfAKilledJob, ShowsTheOperationThatWasNotTaken) {
  const RecordedJob job(Linked(), "", "die");
  ASSERT_EQ(job.rings(), static_cast<size_t>(kRanks));
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingView ring = job.Ring(rank);
    EXPECT_EQ(ring.header.state, static_cast<uint32_t>(RecorderState::kActive));
    EXPECT_EQ(ring.InFlight(), 1U);
    EXPECT_EQ(ring.slots[0].state, static_cast<uint8_t>(OperationState::kEnqueued));
    EXPECT_TRUE(ring.IsAccountingExact());
  }
}

TEST(PreloadRecorderBesideThePlugin, StaysOutOnlyWhereNcclKnowsPlugins) {
  RingDirectory directory;
  const std::string plugin = directory.path() + "/libnccl-profiler-lockstep.so";
  std::filesystem::copy_file(Artifact("libfake_nccl.so"), plugin);  // any library of that name
  const std::string also = "LD_PRELOAD=" + Artifact("liblockstep-preload.so") + ":" + plugin;
  EXPECT_EQ(RecordedJob(Linked(), also + " FAKE_NCCL_VERSION=22304").rings(), 0U);
  EXPECT_EQ(RecordedJob(Linked(), also + " FAKE_NCCL_VERSION=22105").rings(), static_cast<size_t>(kRanks));
  EXPECT_EQ(RecordedJob(Linked(), "FAKE_NCCL_VERSION=22304").rings(), static_cast<size_t>(kRanks));
}

TEST(PreloadRecorderWithoutRing, TheProgramDoesNotNotice) {
  const RecordedJob job(Linked(), "LOCKSTEP_RING_DIR=/proc/self");
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(job.runs()[rank].output, job.alone()[rank].output);
  EXPECT_EQ(job.rings(), 0U);
}

TEST(PreloadRecorderWithoutRing, SwitchedOffLeavesARingThatSaysSo) {
  const RecordedJob job(Linked(), "LOCKSTEP_RECORDER=off");
  ASSERT_EQ(job.rings(), static_cast<size_t>(kRanks));
  for (int rank = 0; rank < kRanks; ++rank) {
    const RingHeader& header = job.Ring(rank).header;
    EXPECT_EQ(header.state, static_cast<uint32_t>(RecorderState::kDisabled));
    EXPECT_EQ(header.disabled_reason, static_cast<uint32_t>(DisabledReason::kByEnvironment));
    EXPECT_EQ(header.counters.enqueued, 0U);
    EXPECT_EQ(job.runs()[rank].output, job.alone()[rank].output);
  }
}

// Before glibc 2.34 functions of libc that open libraries are in libdl, which belongs to it.
TEST(PreloadRecorderLibrary, NeedsNothingButLibcAndShowsNothingButNccl) {
  const std::string library = Artifact("liblockstep-preload.so");
  // grep finds no line, and says so by its exit status.
  EXPECT_EQ(Shell("readelf -d " + library + " | grep NEEDED | grep -vE 'libc\\.so|libdl\\.so|ld-linux'").exit_code, 1);
  EXPECT_EQ(Shell("nm -D --defined-only " + library + " | grep ' [A-Z] ' | grep -vE ' nccl| __bss_start| _edata| _end'")
                .exit_code,
            1);
}

TEST(PreloadIds, DifferWhereCommunicatorsDo) {
  std::set<uint64_t> ids;
  for (char first = 0; first < 100; ++first) {
    nccl::UniqueId id = {};
    id.bytes[first % 128] = static_cast<char>(first + 1);
    ids.insert(IdOf(id));
    ids.insert(IdOfSplit(IdOf(id), 0, 0));
    ids.insert(IdOfSplit(IdOf(id), 0, 1));
    ids.insert(IdOfSplit(IdOf(id), 1, 0));
  }
  EXPECT_EQ(ids.size(), 400U);
}

TEST(PreloadGroup, HoldsUpToItsLimitsAndOnlyInside) {
  NcclGroup group;
  EXPECT_FALSE(group.Hold(OperationHandle{}));
  EXPECT_FALSE(group.Leave()) << "an end without a start";
  group.Enter();
  group.Enter();
  for (uint32_t i = 0; i < NcclGroup::kMaxOperations; ++i) EXPECT_TRUE(group.Hold(OperationHandle{.ticket = i}));
  EXPECT_FALSE(group.Hold(OperationHandle{}));
  for (uint32_t i = 0; i < NcclGroup::kMaxCommunicators; ++i) EXPECT_TRUE(group.Hold(NcclGroup::Making{}));
  EXPECT_FALSE(group.Hold(NcclGroup::Making{}));
  EXPECT_FALSE(group.Leave());
  EXPECT_TRUE(group.Leave());
  uint64_t expected = 0;
  group.TakeOperations([&](const OperationHandle& operation) { EXPECT_EQ(operation.ticket, expected++); });
  EXPECT_EQ(expected, NcclGroup::kMaxOperations);
  group.TakeOperations([](const OperationHandle&) { ADD_FAILURE() << "handed out twice"; });
}

}  // namespace
}  // namespace lockstep::ring
