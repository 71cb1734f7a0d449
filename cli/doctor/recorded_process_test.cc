// Looks at fake /proc trees, at this process itself, and at a live ring that it has written.

#include "cli/doctor/recorded_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::SizeIs;

constexpr char kMaps[] =
    "5581-5582 r--p 00000000 08:01 17   /usr/bin/python3.11\n"
    "7f00-7f01 r-xp 00000000 08:01 18   /usr/lib/lockstep/libnccl-profiler-lockstep.so\n"
    "7f01-7f02 rw-p 00000000 00:00 0 \n"
    "7f02-7f03 r-xp 00000000 08:01 19   /opt/my torch/lib/libnccl.so.2.27.5\n"
    "7f03-7f04 rw-s 00000000 00:19 20   /dev/shm/lockstep/7-99-0.ring\n"
    "7f04-7f05 rw-s 00001000 00:19 20   /dev/shm/lockstep/7-99-0.ring\n"
    "7f05-7f06 rw-s 00000000 00:19 21   /dev/shm/lockstep/.7-99-0x7ffd1234.new (deleted)\n"
    "7f06-7f07 rw-s 00000000 00:19 22   /dev/shm/other.new (deleted)\n"
    "7fff-8000 r-xp 00000000 00:00 0    [vdso]\n";

TEST(FindLibrariesTest, NamesWhatMatters) {
  const LoadedLibraries found = FindLibraries(kMaps);
  EXPECT_EQ(found.nccl, "/opt/my torch/lib/libnccl.so.2.27.5");
  EXPECT_EQ(found.profiler, "/usr/lib/lockstep/libnccl-profiler-lockstep.so");
  EXPECT_EQ(found.mpi, "");
  ASSERT_THAT(found.rings, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.rings[i].folder, "/dev/shm/lockstep");
    EXPECT_EQ(found.rings[i].name_prefix, "7-99-");
    EXPECT_EQ(found.rings[i].inode, 20 + i);
  }
  EXPECT_TRUE(found.communicates());
  EXPECT_FALSE(FindLibraries("").communicates());
}

TEST(FindLibrariesTest, RemembersOnlySoManyRings) {
  std::string maps;
  for (int i = 0; i < 100; ++i)
    maps += "1-2 rw-s 0 0:0 " + std::to_string(i) + " /r/1-2-" + std::to_string(i) + ".ring\n";
  EXPECT_THAT(FindLibraries(maps).rings, SizeIs(LoadedLibraries::kMaxRings));
}

class LookAtTest : public ::testing::Test {
 protected:
  // A process 7 whose own root is the folder "container".
  void MakeProcess(const std::string& maps, const std::string& environment) {
    root_.Write("proc/7/maps", maps);
    root_.Write("proc/7/comm", "python3\n");
    root_.Write("proc/7/environ", environment);
    std::filesystem::create_directories(root_.path() / "container/etc");
    std::filesystem::create_symlink(root_.path() / "container", root_.path() / "proc/7/root");
  }
  std::string Root() const { return root_.path().string(); }

  TemporaryDirectory root_;
};

TEST_F(LookAtTest, SeesFilesWhereTheProcessSeesThem) {
  MakeProcess(kMaps, std::string("HOME=/root\0LOCKSTEP_RECORDER=off\0", 32));
  root_.Write("container/etc/nccl.conf", "NCCL_PROFILER_PLUGIN=/opt/libnccl-profiler-lockstep.so\n");
  std::filesystem::create_directories(root_.path() / "container/dev/shm/lockstep");
  root_.Write("container/opt/libnccl-profiler-lockstep.so", "");
  const absl::StatusOr<RecordedProcess> process = LookAt(Root(), 7);
  ASSERT_OK(process);
  EXPECT_EQ(process->command, "python3");
  EXPECT_EQ(process->recorder_variable, "off");
  EXPECT_EQ(process->plugin_in_conf, "/opt/libnccl-profiler-lockstep.so");
  EXPECT_TRUE(process->plugin_file_exists);
  EXPECT_THAT(process->rings, SizeIs(0));
  EXPECT_EQ(process->rings_deleted, 2U) << "neither file is in the container";
}

TEST_F(LookAtTest, TheUsersFileComesBeforeTheMachines) {
  MakeProcess("", std::string("HOME=/users/u\0", 14));
  root_.Write("container/etc/nccl.conf", "NCCL_PROFILER_PLUGIN=machine\n");
  root_.Write("container/users/u/.nccl.conf", "NCCL_PROFILER_PLUGIN=user\n");
  EXPECT_EQ(LookAt(Root(), 7)->plugin_in_conf, "user");
}

TEST_F(LookAtTest, ReadsTheRing) {
  static ring::RingWriter writer;
  const std::string directory = root_.path() / "container/dev/shm/lockstep";
  std::filesystem::create_directories(directory);
  ring::RingOptions options;
  options.directory = directory.c_str();
  options.kind = ring::RecorderKind::kNcclPreload;
  options.library_version = 22105;
  options.rank = 3;
  options.world_size = 8;
  options.job = "job";
  ASSERT_TRUE(writer.Open(options));
  const uint32_t world = writer.FindOrAddCommunicator({.id = 5, .size = 8, .rank = 3}, 1);
  for (int i = 0; i < 4; ++i) {
    const ring::OperationHandle operation = writer.Begin({.kind = ring::OperationKind::kAllReduce,
                                                          .timing_quality = ring::TimingQuality::kHostEnqueue,
                                                          .communicator = world},
                                                         10 + i);
    if (i < 3) writer.Finish(operation, {}, 20 + i);
  }
  const std::string name = std::filesystem::directory_iterator(directory)->path().filename();
  struct stat file = {};
  ASSERT_EQ(stat((directory + "/" + name).c_str(), &file), 0);
  MakeProcess("1-2 rw-s 0 0:0 " + std::to_string(file.st_ino) + " /dev/shm/lockstep/." +
                  name.substr(0, name.rfind('-')) + "-0x1.new (deleted)\n",
              "");
  const absl::StatusOr<RecordedProcess> process = LookAt(Root(), 7);
  ASSERT_OK(process);
  ASSERT_THAT(process->rings, SizeIs(1));
  const RingFacts& ring = process->rings[0];
  EXPECT_EQ(ring.refused, "");
  EXPECT_EQ(ring.kind, ring::RecorderKind::kNcclPreload);
  EXPECT_EQ(ring.state, ring::RecorderState::kActive);
  EXPECT_EQ(ring.library_version, 22105U);
  EXPECT_EQ(ring.job, "job");
  EXPECT_EQ(ring.rank, 3);
  EXPECT_EQ(ring.counters.enqueued, 4U);
  EXPECT_EQ(ring.in_flight, 1U);
  EXPECT_EQ(ring.communicators, 1U);
  EXPECT_EQ(ring.timing[static_cast<size_t>(ring::TimingQuality::kHostEnqueue)], 4U);
}

TEST_F(LookAtTest, APidThatIsNotThere) {
  MakeProcess("", "");
  EXPECT_EQ(LookAt(Root(), 8).status().code(), absl::StatusCode::kNotFound);
}

TEST(LookAtRealProcTest, SeesThisProcess) {
  const absl::StatusOr<RecordedProcess> process = LookAt("/", getpid());
  ASSERT_OK(process);
  EXPECT_NE(process->command, "");
  EXPECT_FALSE(process->libraries.has_recorder());
  const absl::StatusOr<std::vector<int32_t>> pids = AllProcesses("/");
  ASSERT_OK(pids);
  EXPECT_THAT(*pids, ::testing::Contains(getpid()));
}

}  // namespace
}  // namespace lockstep
