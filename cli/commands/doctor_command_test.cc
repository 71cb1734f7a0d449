// `lockstep doctor` on this very process, which holds a ring of its own, and on a machine of fixtures.

#include "cli/commands/doctor_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "agent/recorder/ring_file.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_writer.h"
#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/testing/run_command.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CommandResult Doctor(const std::map<std::string, std::string>& arguments, OutputFormat format = OutputFormat::kTable) {
  return RunCommand(MakeDoctorCommand(), arguments, format);
}

TEST(DoctorCommandTest, AProcessThatIsRecordedAndThenIsNot) {
  static ring::RingWriter writer;
  const TemporaryDirectory directory;
  const std::string place = directory.path().string();
  ring::RingOptions options;
  options.directory = place.c_str();
  options.kind = ring::RecorderKind::kNcclProfiler;
  options.abi_version = 6;
  ASSERT_TRUE(writer.Open(options));
  writer.Begin({.kind = ring::OperationKind::kSend, .timing_quality = ring::TimingQuality::kGpuTimer, .peer = 1}, 1);
  const std::string self = std::to_string(getpid());

  const CommandResult recorded = Doctor({{"--pid", self}});
  EXPECT_EQ(recorded.exit_code, ExitCode::kOk) << recorded.error;
  EXPECT_THAT(recorded.out, HasSubstr("nccl-profiler  gpu timer  v6"));
  const nlohmann::json json = nlohmann::json::parse(Doctor({{"--pid", self}}, OutputFormat::kJson).out, nullptr, false);
  ASSERT_EQ(json["processes"].size(), 1U);
  EXPECT_EQ(json["processes"][0]["cause"], "recorded");
  EXPECT_EQ(json["processes"][0]["ring"]["operations_in_flight"], 1);
  EXPECT_EQ(json["processes"][0]["ring"]["timing"]["gpu timer"], 1);

  writer.Disable(ring::DisabledReason::kOverBudget);
  const CommandResult disabled = Doctor({{"--pid", self}});
  EXPECT_EQ(disabled.exit_code, ExitCode::kFindings);
  EXPECT_THAT(disabled.out, HasSubstr("recording cost more than its budget"));
}

TEST(DoctorCommandTest, AMachineOfOthers) {
  const TemporaryDirectory root;
  const auto add = [&root](int pid, const std::string& maps) {
    const std::string folder = "proc/" + std::to_string(pid);
    root.Write(folder + "/maps", maps);
    root.Write(folder + "/comm", "train\n");
    std::filesystem::create_symlink(root.path(), root.path() / folder / "root");
  };
  add(10, "1-2 r-xp 0 0:0 1 /usr/lib/libc.so.6\n");
  const std::string path = root.path().string();
  const CommandResult quiet = Doctor({{"--root", path}});
  EXPECT_EQ(quiet.exit_code, ExitCode::kOk);
  EXPECT_EQ(quiet.out, "no process communicates through NCCL or MPI\n");
  add(11, "1-2 r-xp 0 0:0 1 /usr/lib/libnccl.so.2\n");
  const CommandResult found = Doctor({{"--root", path}, {"--all", ""}});
  EXPECT_EQ(found.exit_code, ExitCode::kFindings);
  EXPECT_THAT(found.out, HasSubstr("lockstep enable-nccl"));
  EXPECT_THAT(found.out, Not(HasSubstr("10  train")));
  EXPECT_EQ(Doctor({{"--root", path}, {"--pid", "12"}}).exit_code, ExitCode::kNotFound);
  EXPECT_EQ(Doctor({{"--root", path}, {"--pid", "12"}, {"--all", ""}}).exit_code, ExitCode::kUsage);
  EXPECT_EQ(Doctor({{"--pid", "99999999999"}}).exit_code, ExitCode::kUsage);
}

}  // namespace
}  // namespace lockstep
