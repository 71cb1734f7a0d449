#include "agent/kineto/registered_processes.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

FabricMessage Registration(int64_t job, int32_t device) {
  return {.kind = FabricMessage::Kind::kRegistration, .device = device, .pid = 1, .job = job};
}

FabricMessage Poll(int64_t job) { return {.kind = FabricMessage::Kind::kPoll, .pid = 1, .job = job}; }

FabricSender Sender(int32_t pid, uint32_t uid, uint64_t start_ticks = 7) {
  return {.pid = pid, .start_ticks = start_ticks, .uid = uid};
}

TEST(RegisteredProcessesTest, CountsThoseOfAJobAndDeviceOnce) {
  RegisteredProcesses processes;
  for (int repeat = 0; repeat < 3; ++repeat) {
    ASSERT_EQ(processes.Hear(Registration(5, 0), Sender(100, 1000), 0), FabricRefusal::kNone);
    ASSERT_EQ(processes.Hear(Registration(5, 0), Sender(101, 1000), 0), FabricRefusal::kNone);
    ASSERT_EQ(processes.Hear(Registration(5, 1), Sender(102, 1000), 0), FabricRefusal::kNone);
  }
  EXPECT_EQ(processes.CountOf(5, 0), 2);
  EXPECT_EQ(processes.CountOf(5, 1), 1);
  EXPECT_EQ(processes.CountOf(6, 0), 0);
  EXPECT_EQ(processes.size(), 3u);
}

TEST(RegisteredProcessesTest, APollOfSomebodyUnknownRegistersAndKeepsTheDeviceOfOneWhoIsKnown) {
  RegisteredProcesses processes;
  ASSERT_EQ(processes.Hear(Poll(5), Sender(100, 1000), 0), FabricRefusal::kNone);
  EXPECT_EQ(processes.CountOf(5, -1), 1);
  ASSERT_EQ(processes.Hear(Registration(5, 2), Sender(100, 1000), 0), FabricRefusal::kNone);
  ASSERT_EQ(processes.Hear(Poll(5), Sender(100, 1000), 0), FabricRefusal::kNone);
  EXPECT_EQ(processes.CountOf(5, 2), 1);
  EXPECT_EQ(processes.size(), 1u);
}

TEST(RegisteredProcessesTest, APidThatIsGivenOutAgainIsAnotherProcess) {
  RegisteredProcesses processes;
  ASSERT_EQ(processes.Hear(Registration(5, 0), Sender(100, 1000, 7), 0), FabricRefusal::kNone);
  ASSERT_EQ(processes.Hear(Registration(6, 0), Sender(100, 1000, 9), 0), FabricRefusal::kNone);
  EXPECT_EQ(processes.size(), 2u);
}

TEST(RegisteredProcessesTest, AUserWhoFillsHisShareLeavesRoomForOthers) {
  RegisteredProcesses processes;
  int32_t pid = 1;
  for (size_t i = 0; i < RegisteredProcesses::kMaxProcessesPerUser; ++i) {
    ASSERT_EQ(processes.Hear(Poll(0), Sender(pid++, 1000), 0), FabricRefusal::kNone);
  }
  EXPECT_EQ(processes.Hear(Poll(0), Sender(pid, 1000), 0), FabricRefusal::kTooManyOfUser);
  EXPECT_EQ(processes.Hear(Poll(0), Sender(1, 1000), 0), FabricRefusal::kNone) << "who is in stays in";
  uint32_t uid = 1001;
  while (processes.size() < RegisteredProcesses::kMaxProcesses) {
    ASSERT_EQ(processes.Hear(Poll(0), Sender(pid++, uid++), 0), FabricRefusal::kNone);
  }
  EXPECT_EQ(processes.Hear(Poll(0), Sender(pid, uid), 0), FabricRefusal::kTooMany);
}

TEST(RegisteredProcessesTest, WhoIsSilentIsForgottenAndMakesRoom) {
  RegisteredProcesses processes;
  for (size_t i = 0; i < RegisteredProcesses::kMaxProcessesPerUser; ++i) {
    ASSERT_EQ(processes.Hear(Poll(0), Sender(static_cast<int32_t>(i) + 1, 1000), 0), FabricRefusal::kNone);
  }
  ASSERT_EQ(processes.Hear(Poll(0), Sender(1, 1000), 1), FabricRefusal::kNone);
  processes.Forget(RegisteredProcesses::kForgetNanos - 1);
  EXPECT_EQ(processes.size(), RegisteredProcesses::kMaxProcessesPerUser);
  processes.Forget(RegisteredProcesses::kForgetNanos);
  EXPECT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes.Hear(Poll(0), Sender(999, 1000), 0), FabricRefusal::kNone);
}

}  // namespace
}  // namespace lockstep
