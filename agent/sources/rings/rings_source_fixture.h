// A ring of a process whose /proc is a folder of the test, and the source that follows it. Not thread-safe.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RINGS_SOURCE_FIXTURE_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RINGS_SOURCE_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/gpu_names.h"
#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_writer.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/sources/rings/rings_source.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class RingsSourceFixture : public ::testing::Test {
 protected:
  explicit RingsSourceFixture(const char* job = "job\x01") {
    ring::RingOptions options;
    options.kind = ring::RecorderKind::kNcclProfiler;
    rings_ = (directory_.path() / "rings").string();
    options.directory = rings_.c_str();
    options.job = job;
    options.rank = 0;
    options.world_size = 1;
    options.operation_capacity = 16;
    static ring::RingWriter writers[64];  // one per test
    static int used = 0;
    writer_ = &writers[used++];
    EXPECT_TRUE(writer_->Open(options));
    for (const auto& entry : std::filesystem::directory_iterator(rings_)) path_ = entry.path().string();
    const std::string name = std::filesystem::path(path_).stem().string();  // pid-ticks-number
    pid_ = name.substr(0, name.find('-'));
    ticks_ = name.substr(pid_.size() + 1, name.rfind('-') - pid_.size() - 1);
    now_ns_ = ring::MonotonicNs();
    world_ = writer_->FindOrAddCommunicator({.id = 7, .size = 1, .rank = 0, .name = "world"}, now_ns_);
    SetState('R');
  }

  void SetState(char state) {
    directory_.Write(absl::StrCat("root/proc/", pid_, "/stat"),
                     absl::StrCat(pid_, " (train) ", std::string(1, state), " 1 2 3 4 5 6 7 8 9 10 100 0 0 0 20 0 1 0 ",
                                  ticks_, " 5"));
    directory_.Write(absl::StrCat("root/proc/", pid_, "/status"), Status(pid_));
  }
  // Of a process of ours; `pids` as in its NSpid line.
  static std::string Status(const std::string& pids) {
    return absl::StrCat("Name:\tx\nUid:\t", geteuid(), "\t", geteuid(), "\t0\t0\nNSpid:\t", pids, "\n");
  }
  void Kill() { std::filesystem::remove_all(directory_.path() / "root/proc" / pid_); }

  RingsSource MakeSource() {
    auto root = RootedFs::Open((directory_.path() / "root").string());
    EXPECT_OK(root);
    return RingsSource(rings_, *std::move(root), 0, gpus_, RealClock());
  }

  wire::AgentReport Collect(RingsSource& source, int64_t after_ns) {
    wire::AgentReport report;
    Tick tick;
    tick.monotonic_ns = now_ns_ + after_ns;
    EXPECT_OK(source.Collect(tick, report));
    return report;
  }

  TemporaryDirectory directory_;
  std::string rings_, path_, pid_, ticks_;
  const std::shared_ptr<GpuNames> gpus_ = std::make_shared<GpuNames>();
  ring::RingWriter* writer_ = nullptr;
  int64_t now_ns_ = 0;
  uint32_t world_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RINGS_SOURCE_FIXTURE_H_
