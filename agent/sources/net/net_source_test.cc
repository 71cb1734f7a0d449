#include "agent/sources/net/net_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/testing/report_view.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// What a fake driver counts, by interface; an interface that is not in here has no statistics. Shared with the test.
struct FakeDriver {
  std::map<std::string, std::vector<std::pair<std::string, uint64_t>>> statistics;
  int names_read = 0;
  int values_read = 0;
};

class FakeEthtool final : public EthtoolStatistics {
 public:
  explicit FakeEthtool(FakeDriver& driver) : driver_(driver) {}

  absl::StatusOr<std::vector<std::string>> Names(const std::string& interface_name) override {
    ++driver_.names_read;
    std::vector<std::string> names;
    for (const auto& [name, value] : driver_.statistics[interface_name]) names.push_back(name);
    return names;
  }
  absl::StatusOr<std::vector<uint64_t>> Values(const std::string& interface_name) override {
    ++driver_.values_read;
    if (!driver_.statistics.contains(interface_name)) return absl::UnimplementedError("no statistics");
    std::vector<uint64_t> values;
    for (const auto& [name, value] : driver_.statistics[interface_name]) values.push_back(value);
    return values;
  }

 private:
  FakeDriver& driver_;
};

class NetSourceTest : public ::testing::Test {
 protected:
  NetSourceTest() : source_(*RootedFs::Open(directory_.path().string()), std::make_unique<FakeEthtool>(driver_)) {}

  void WriteInterface(const std::string& name, bool hardware, const std::string& state = "up") {
    const std::string folder = "sys/class/net/" + name + "/";
    directory_.Write(folder + "operstate", state + "\n");
    directory_.Write(folder + "carrier", "1\n");
    directory_.Write(folder + "speed", "100000\n");
    directory_.Write(folder + "carrier_changes", "5\n");
    directory_.Write(folder + "statistics/rx_bytes", "1000\n");
    directory_.Write(folder + "statistics/tx_bytes", "2000\n");
    directory_.Write(folder + "statistics/rx_dropped", "7\n");
    if (hardware) directory_.Write(folder + "device/vendor", "0x15b3\n");
  }

  wire::AgentReport Collect(int64_t now_ns = 0) {
    wire::AgentReport report;
    last_ = source_.Collect(Tick{.monotonic_ns = now_ns}, report);
    return report;
  }

  TemporaryDirectory directory_;
  FakeDriver driver_;
  NetSource source_;
  absl::Status last_;
};

TEST_F(NetSourceTest, ReportsLinkAndTraffic) {
  WriteInterface("eth0", /*hardware=*/true);
  const wire::AgentReport report = Collect();
  ASSERT_OK(last_);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetUp), 1);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetSpeedBitsPerSecond), 1e11);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetCarrierChangesTotal), 5);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetReceiveBytesTotal), 1000);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetTransmitBytesTotal), 2000);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetReceiveDroppedTotal), 7);
  EXPECT_FALSE(ValueOf(report, "eth0", Metric::kNetTransmitDroppedTotal).has_value()) << "that file is missing";
}

TEST_F(NetSourceTest, ReportsHardwareOnlyWhereThereIsHardware) {
  WriteInterface("lo", /*hardware=*/false, "unknown");
  WriteInterface("veth12", /*hardware=*/false);
  WriteInterface("eth0", /*hardware=*/true);
  directory_.Write("sys/class/net/bonding_masters", "bond0\n");
  EXPECT_THAT(DevicesOf(Collect()), ElementsAre("eth0"));
}

TEST_F(NetSourceTest, FallsBackToVirtualInterfacesAndThenToTheLoopback) {
  WriteInterface("lo", /*hardware=*/false, "unknown");
  EXPECT_THAT(DevicesOf(Collect()), ElementsAre("lo"));
  WriteInterface("veth12", /*hardware=*/false);
  EXPECT_THAT(DevicesOf(Collect(NetSource::kRescanNs - 1)), ElementsAre("lo")) << "not scanned again yet";
  EXPECT_THAT(DevicesOf(Collect(NetSource::kRescanNs)), ElementsAre("veth12"));
}

TEST_F(NetSourceTest, ALinkThatIsDownHasNoSpeed) {
  WriteInterface("eth0", /*hardware=*/true, "down");
  directory_.Write("sys/class/net/eth0/speed", "-1\n");
  WriteInterface("eth1", /*hardware=*/true, "unknown");
  directory_.Write("sys/class/net/eth1/carrier", "0\n");
  directory_.Write("sys/class/net/eth1/speed", "4294967295\n");
  const wire::AgentReport report = Collect();
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetUp), 0);
  EXPECT_EQ(ValueOf(report, "eth1", Metric::kNetUp), 0);
  EXPECT_FALSE(ValueOf(report, "eth0", Metric::kNetSpeedBitsPerSecond).has_value());
  EXPECT_FALSE(ValueOf(report, "eth1", Metric::kNetSpeedBitsPerSecond).has_value());
}

TEST_F(NetSourceTest, AddsUpThePriorities) {
  WriteInterface("eth0", /*hardware=*/true);
  driver_.statistics["eth0"] = {{"rx_prio0_pause", 1},  {"rx_packets", 999},   {"rx_prio3_pause", 40},
                                {"rx_discards_phy", 0}, {"tx_prio3_pause", 3}, {"rx_prio3_pause_duration", 12}};
  const wire::AgentReport report = Collect();
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetReceivePauseFramesTotal), 41);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetTransmitPauseFramesTotal), 3);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetReceivePauseMicrosecondsTotal), 12);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetReceiveDiscardsPhyTotal), 0);
}

TEST_F(NetSourceTest, LearnsTheNamesOnceAndAgainWhenTheirNumberChanges) {
  WriteInterface("eth0", /*hardware=*/true);
  driver_.statistics["eth0"] = {{"rx_prio0_pause", 1}};
  Collect(0);
  Collect(1);
  EXPECT_EQ(driver_.names_read, 1);
  driver_.statistics["eth0"] = {{"rx0_packets", 5}, {"rx_prio0_pause", 2}};
  EXPECT_EQ(ValueOf(Collect(2), "eth0", Metric::kNetReceivePauseFramesTotal), 2);
  EXPECT_EQ(driver_.names_read, 2);
}

TEST_F(NetSourceTest, DoesNotKeepAskingADriverWithoutStatistics) {
  WriteInterface("eth0", /*hardware=*/true);
  Collect(0);
  const wire::AgentReport report = Collect(1);
  EXPECT_OK(last_);
  EXPECT_EQ(driver_.values_read, 1);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetUp), 1);
}

TEST_F(NetSourceTest, CountsTheInterfacesBeyondItsLimit) {
  for (size_t i = 0; i < NetSource::kMaxInterfaces + 2; ++i) {
    WriteInterface(absl::StrCat("eth", i), /*hardware=*/true);
  }
  const wire::AgentReport report = Collect();
  EXPECT_EQ(DevicesOf(report).size(), NetSource::kMaxInterfaces);
  EXPECT_EQ(DroppedOf(report, "net_interfaces"), 2u);
}

TEST_F(NetSourceTest, AnInterfaceThatVanishedLeavesNoTrace) {
  WriteInterface("eth0", /*hardware=*/true);
  WriteInterface("eth1", /*hardware=*/true);
  Collect(0);
  std::filesystem::remove_all(directory_.path() / "sys/class/net/eth1");
  EXPECT_THAT(DevicesOf(Collect(1)), ElementsAre("eth0"));
  EXPECT_OK(last_);
}

TEST_F(NetSourceTest, HasNoDataWithoutInterfaces) {
  Collect();
  EXPECT_TRUE(IsNoData(last_)) << last_;
}

TEST(EthtoolIoctlTest, TellsAMissingInterfaceFromOneWithoutStatistics) {
  const std::unique_ptr<EthtoolStatistics> ethtool = MakeEthtoolStatistics();
  EXPECT_FALSE(ethtool->Values("no-such-if").ok());
  EXPECT_FALSE(ethtool->Values("a-name-that-is-far-too-long").ok());
  EXPECT_FALSE(ethtool->Names("lo").ok()) << "the loopback has no driver to count";
}

TEST(NetSourceLiveTest, ReportsSomethingOnThisMachine) {
  NetSource source(*RootedFs::Open("/"), MakeEthtoolStatistics());
  wire::AgentReport report;
  EXPECT_OK(source.Collect(Tick{}, report));
  EXPECT_FALSE(DevicesOf(report).empty());
}

}  // namespace
}  // namespace lockstep
