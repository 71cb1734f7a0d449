#include "agent/sources/kernel_log/kernel_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using wire::KernelEvent;

constexpr char kTestdata[] = "agent/sources/kernel_log/testdata/";

// The lines of a file, without what the forms of dmesg put in front: "[12.345] ", "kern  :warn  : <time>+00:00 ".
std::vector<std::string> ReadLines(const std::string& name) {
  std::vector<std::string> lines;
  std::ifstream file(kTestdata + name);
  std::string line;
  while (std::getline(file, line)) {
    for (const auto& [start, end] : {std::pair("[", "] "), std::pair("kern", "+00:00 ")}) {
      const size_t at = line.rfind(start, 0) == 0 ? line.find(end) : std::string::npos;
      if (at != std::string::npos) line.erase(0, at + std::string(end).size());
    }
    lines.push_back(line);
  }
  return lines;
}

struct Case {
  absl::string_view line;
  KernelEvent::Kind kind;
  int64_t code;
  absl::string_view device;
  int32_t pid;
};

constexpr Case kCases[] = {
    // Xid, in the wordings of several driver generations.
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.", KernelEvent::KIND_XID, 79,
     "0000:3b:00.0", 1234},
    {"NVRM: Xid (PCI:0000:CB:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception",
     KernelEvent::KIND_XID, 13, "0000:cb:00.0", 0},
    {"NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406)", KernelEvent::KIND_XID, 149,
     "0019:01:00.0", 0},
    {"NVRM: Xid (0000:03:00): 31, Ch 00000010, engmask 00000101", KernelEvent::KIND_XID, 31, "0000:03:00.0", 0},
    {"NVRM: Xid (PCI:0000:9b:00.0): 94", KernelEvent::KIND_XID, 94, "0000:9b:00.0", 0},
    {"NVRM: Xid (PCI:0000:01:00): 45, pid=99999999999, name=x", KernelEvent::KIND_XID, 45, "0000:01:00.0", 0},
    // A GPU that is gone, without an Xid.
    {"NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", KernelEvent::KIND_XID, 79, "0000:01:00.0", 0},
    {R"(NVRM: The NVIDIA GPU 0000:b3:00.0\x0aNVRM: (PCI ID: 10de:26b5) has\x0aNVRM: fallen off the bus and)",
     KernelEvent::KIND_XID, 79, "0000:b3:00.0", 0},
    // SXid
    {"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
     KernelEvent::KIND_SXID, 12028, "0000:05:00.0", 0},
    {"nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a}", KernelEvent::KIND_SXID, 12028,
     "0000:84:00.0", 0},
    // PCIe
    {"pcieport 0000:00:03.0: AER: Corrected error received: 0000:04:00.0", KernelEvent::KIND_PCIE_AER, 0,
     "0000:04:00.0", 0},
    {"pcieport 0000:00:03.0: AER: Multiple Corrected error received: 0000:00:03.0", KernelEvent::KIND_PCIE_AER, 0,
     "0000:00:03.0", 0},
    {"pcieport 0000:00:03.0: AER: Correctable error message received from 0000:04:00.0", KernelEvent::KIND_PCIE_AER, 0,
     "0000:04:00.0", 0},
    {"pcieport 0000:17:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:18:00.0", KernelEvent::KIND_PCIE_AER, 1,
     "0000:18:00.0", 0},
    {"pcieport 0000:17:01.0: AER: Uncorrectable (Fatal) error message received from 0000:18:00.0",
     KernelEvent::KIND_PCIE_AER, 2, "0000:18:00.0", 0},
    {"pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
     KernelEvent::KIND_PCIE_AER, 0, "0000:00:03.0", 0},
    {"nvidia 0000:3b:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
     KernelEvent::KIND_PCIE_AER, 2, "0000:3b:00.0", 0},
    {"pcieport 0000:00:01.0: DPC: containment event, status:0x1f01 source:0x0000", KernelEvent::KIND_PCIE_AER, 2,
     "0000:00:01.0", 0},
    // mlx5
    {"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE", KernelEvent::KIND_MLX5, 2, "0000:ab:00.0", 0},
    {"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN", KernelEvent::KIND_MLX5, 1, "0000:ab:00.0", 0},
    {"mlx5_core 0000:41:00.0 enp65s0f0np0: Link down", KernelEvent::KIND_MLX5, 1, "0000:41:00.0", 0},
    {"mlx5_core 0000:41:00.1: Port module event: module 1, Cable unplugged", KernelEvent::KIND_MLX5, 3, "0000:41:00.1",
     0},
    {"mlx5_core 0000:41:00.0: poll_health:822:(pid 0): Fatal error 1 detected", KernelEvent::KIND_MLX5, 4,
     "0000:41:00.0", 0},
    {"mlx5_core 0000:41:00.0: wait_func:1137:(pid 94): CREATE_CQ(0x400) timeout. Will cause a leak of a command "
     "resource",
     KernelEvent::KIND_MLX5, 5, "0000:41:00.0", 0},
    // Out of memory
    {"Out of memory: Killed process 863987 (python3), UID 48, total-vm:1kB", KernelEvent::KIND_OUT_OF_MEMORY, 863987,
     "", 863987},
    {"Out of memory: Kill process 456 (python) score 50 or sacrifice child", KernelEvent::KIND_OUT_OF_MEMORY, 456, "",
     456},
    {"Memory cgroup out of memory: Killed process 77 (node) total-vm:1kB", KernelEvent::KIND_OUT_OF_MEMORY, 77, "", 77},
    {"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,task=node,pid=863987,uid=0",
     KernelEvent::KIND_OUT_OF_MEMORY, 863987, "", 863987},
    {"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),", KernelEvent::KIND_OUT_OF_MEMORY, 0, "", 0},
    // Memory controller
    {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", KernelEvent::KIND_EDAC, 0, "MC0", 0},
    {"train[77]: segfault at 0 ip 00007f01 sp 00007ffd error 4 in libx.so[7f00+1000]", KernelEvent::KIND_CRASH, 11, "",
     77},
    {"a[7]: segfault[78]: segfault at 8 ip 00007f01 sp 00007ffd error 6", KernelEvent::KIND_CRASH, 11, "", 78},
    {"traps: py [a][79] general protection fault ip:7f01 sp:7ffd error:0 in libx.so[7f00+1000]",
     KernelEvent::KIND_CRASH, 11, "", 79},
    {"traps: train[80] trap invalid opcode ip:4011 sp:7ffd error:0 in train[4000+1000]", KernelEvent::KIND_CRASH, 4, "",
     80},
    {"traps: train[81] trap divide error ip:4011 sp:7ffd error:0", KernelEvent::KIND_CRASH, 8, "", 81},
    {"EDAC MC3: 2 UE memory scrubbing error on unknown memory", KernelEvent::KIND_EDAC, 1, "MC3", 0},
};

TEST(KernelLineTest, RecognisesEachKind) {
  for (const Case& expected : kCases) {
    const absl::optional<KernelEvent> event = ParseKernelLine(expected.line);
    ASSERT_TRUE(event.has_value()) << expected.line;
    EXPECT_EQ(event->kind(), expected.kind) << expected.line;
    EXPECT_EQ(event->code(), expected.code) << expected.line;
    EXPECT_EQ(event->device(), expected.device) << expected.line;
    EXPECT_EQ(event->pid(), expected.pid) << expected.line;
    EXPECT_EQ(event->text(), expected.line);
  }
}

TEST(KernelLineTest, LeavesOtherLinesAlone) {
  for (const absl::string_view line : {
           "",
           "NVRM: GPU at PCI:0000:9b:00: GPU-509665ad-b600-ac93-3616-d754b23d636d",
           "NVRM: Xid (invalid): 79, GPU has wandered off",
           "NVRM: Xid (PCI:0000:3b:00): xyz",
           "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999, x",
           "NVRM: Xid (PCI:0000:3b:00",
           "nvidia-nvswitch0: SXid (invalid): some error",
           "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error",
           "nvidia-nvswitch2: open (major=510)",
           "pcieport 0000:00:03.0:   device [8086:6f08] error status/mask=00001000/00002000",
           "pcieport 0000:00:03.0: AER: enabled with IRQ 24",
           "mlx5_core 0000:41:00.0 enp65s0f0np0: renamed from eth0",
           "mlx5_core 0000:41:00.1: E-Switch: Total vports 10, per vport: max uc(128) max mc(2048)",
           "mlx5_core: no address",
           "oom_reaper: reaped process 863987 (node), now anon-rss:0kB",
           "Out of memory: Killed process x (y)",
           "EDAC MC0: Giving out device to module amd64_edac controller F19h_M10h",
           "EDAC MC: UMC0 chip selects:",
           "EDAC amd64: MC: 0: 16384MB 1: 16384MB",
           "my-daemon: saw NVRM: Xid (PCI:0000:3b:00): 79 in a file",
       }) {
    EXPECT_FALSE(ParseKernelLine(line).has_value()) << line;
  }
}

TEST(KernelLineTest, ReadsRealXidLines) {
  std::map<int64_t, int> codes;
  int unrecognised = 0;
  for (const std::string& line : ReadLines("xid_lines.txt")) {
    const absl::optional<KernelEvent> event = ParseKernelLine(line);
    unrecognised += event.has_value() ? 0 : 1;
    if (!event.has_value()) continue;
    EXPECT_EQ(event->kind(), KernelEvent::KIND_XID) << line;
    EXPECT_NE(event->device(), "") << line;
    ++codes[event->code()];
  }
  EXPECT_EQ(codes[79], 7) << "GPU lost";
  EXPECT_GT(codes[149], 15) << "NVLink";
  EXPECT_EQ(unrecognised, 0);
}

TEST(KernelLineTest, FindsTheXidsAmongTheChatterOfTheDriver) {
  int events = 0;
  for (const std::string& line : ReadLines("xid_119_dmesg.txt")) {
    const absl::optional<KernelEvent> event = ParseKernelLine(line);
    if (!event.has_value()) continue;
    ++events;
    EXPECT_EQ(event->code(), 119);
    EXPECT_EQ(event->device(), "0000:9b:00.0");
    EXPECT_GT(event->pid(), 0);
  }
  EXPECT_EQ(events, 5);
}

TEST(KernelLineTest, ReadsRealSxidLines) {
  int events = 0, others = 0;
  for (const std::string& line : ReadLines("sxid_lines.txt")) {
    const absl::optional<KernelEvent> event = ParseKernelLine(line);
    (event.has_value() ? events : others) += 1;
    if (event.has_value()) {
      EXPECT_EQ(event->kind(), KernelEvent::KIND_SXID) << line;
    }
  }
  EXPECT_EQ(events, 22);
  EXPECT_EQ(others, 2);
}

TEST(KernelLineTest, CutsLongLinesAndCleansBadBytes) {
  const std::string line = "NVRM: Xid (PCI:0000:3b:00): 79, \xff\x01\n" + std::string(1000, 'y');
  const absl::optional<KernelEvent> event = ParseKernelLine(line);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->text().size(), kMaxKernelLineBytes);
  EXPECT_THAT(event->text(), ::testing::StartsWith("NVRM: Xid (PCI:0000:3b:00): 79, ???yyy"));
}

}  // namespace
}  // namespace lockstep
