// kill -9 at a random moment: everything for which Write or PutIncident had returned is there afterwards, and a batch
// is there whole or not at all.
//
// The program runs itself again as the process to kill.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/rocks_store.h"

namespace lockstep {
namespace {

constexpr char kChildFlag[] = "--write-until-killed";
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

std::unique_ptr<RocksStore> OpenStore(const std::string& directory) {
  RocksStoreOptions options;
  options.directory = directory;
  options.write_buffer_bytes = size_t{128} << 10;  // so that flushes and compactions are hit as well
  auto store = OpenRocksStore(options, RealClock());
  CHECK(store.ok());
  return *std::move(store);
}

// Batch n holds log entry n of jobs "a" and "b" and the mark n; every eighth also incident n.
void WriteUntilKilled(const std::string& directory, uint64_t first) {
  const std::unique_ptr<RocksStore> store = OpenStore(directory);
  for (uint64_t n = first;; ++n) {
    StoreBatch batch;
    for (const char* job : {"a", "b"}) {
      wire::CaptureReset& reset = *batch.log.emplace_back().mutable_reset();
      reset.set_job(job);
      reset.set_wall_ns(RealClock().WallNanos());
      reset.set_why(std::to_string(n) + std::string(n * 131 % 2'000, 'x'));
    }
    batch.marks.push_back({"node", 1, n});
    CHECK(store->Write(batch).ok());
    if (n % 8 == 0) {
      wire::Incident incident;
      incident.set_id(n);
      CHECK(store->PutIncident(incident).ok());
    }
    CHECK(write(STDOUT_FILENO, &n, sizeof(n)) == sizeof(n));
  }
}

// Lets a process write until it has acknowledged `count` batches, kills it, and returns the last acknowledged one.
uint64_t WriteAndKill(const std::string& directory, uint64_t first, uint64_t count) {
  int pipe_ends[2];
  CHECK(pipe2(pipe_ends, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  std::string program = "/proc/self/exe", flag = kChildFlag, path = directory, start = std::to_string(first);
  char* arguments[] = {program.data(), flag.data(), path.data(), start.data(), nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  uint64_t last = first - 1;
  while (last + 1 < first + count && read(pipe_ends[0], &last, sizeof(last)) == sizeof(last)) {
  }
  kill(child, SIGKILL);
  while (read(pipe_ends[0], &last, sizeof(last)) == sizeof(last)) {  // what it acknowledged before it died
  }
  close(pipe_ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return last;
}

// How many batches the log of `job` holds; they must be those from 1 on, in order, without a gap.
uint64_t CountLog(RocksStore& store, const std::string& job) {
  uint64_t count = 0;
  EXPECT_OK(store.ScanLog(job, 0, kForever, [&](const wire::CaptureEntry& entry) {
    ++count;
    EXPECT_EQ(std::strtoull(entry.reset().why().c_str(), nullptr, 10), count);
    return true;
  }));
  return count;
}

TEST(CrashTest, WhatWasAcknowledgedSurvivesKillNine) {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "history").string();
  Random random(20);
  uint64_t written = 0;
  for (int round = 0; round < 6; ++round) {
    const uint64_t acknowledged = WriteAndKill(path, written + 1, 1 + random.Below(400));
    ASSERT_GT(acknowledged, written);
    const std::unique_ptr<RocksStore> store = OpenStore(path);
    written = CountLog(*store, "a");
    EXPECT_GE(written, acknowledged);
    EXPECT_LE(written, acknowledged + 1) << "at most the batch that was in hand";
    EXPECT_EQ(CountLog(*store, "b"), written) << "a batch is there whole or not at all";
    EXPECT_EQ(store->StoredSequence("node", 1).value(), written);
    EXPECT_GE(store->LoadIncidents().value().size(), acknowledged / 8 - 1);
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == lockstep::kChildFlag) {
    lockstep::WriteUntilKilled(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
