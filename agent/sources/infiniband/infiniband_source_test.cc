#include "agent/sources/infiniband/infiniband_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/testing/report_view.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;

constexpr char kTestdata[] = "agent/sources/infiniband/testdata/";

class InfinibandSourceTest : public ::testing::Test {
 protected:
  // Bazel lays fixtures out as links to elsewhere, which a RootedFs rightly does not follow: copied, they are files.
  void UseFixture(const std::string& name) {
    std::filesystem::copy(kTestdata + name, directory_.path(), std::filesystem::copy_options::recursive);
  }

  void WritePort(const std::string& device, const std::string& number, const std::string& file,
                 const std::string& text) {
    directory_.Write("sys/class/infiniband/" + device + "/ports/" + number + "/" + file, text);
  }

  wire::AgentReport Collect(int64_t now_ns = 0) {
    wire::AgentReport report;
    last_ = source().Collect(Tick{.monotonic_ns = now_ns}, report);
    return report;
  }

  InfinibandSource& source() {
    if (source_ == nullptr) {
      source_ = std::make_unique<InfinibandSource>(*RootedFs::Open(directory_.path().string()));
    }
    return *source_;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<InfinibandSource> source_;
  absl::Status last_;
};

TEST_F(InfinibandSourceTest, ReadsThePortsOfAnH100Node) {
  UseFixture("gpud_h100");
  const wire::AgentReport report = Collect();
  ASSERT_OK(last_);
  EXPECT_THAT(DevicesOf(report), ElementsAre("mlx5_0/1", "mlx5_bond_0/1"));
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbLinkUp), 1);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbRateBitsPerSecond), 400e9);
  EXPECT_EQ(ValueOf(report, "mlx5_bond_0/1", Metric::kIbRateBitsPerSecond), 200e9);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbReceiveBytesTotal), 230539874932483.0 * 4);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbTransmitPacketsTotal), 315487941081.0);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbTransmitWaitTotal), 2489603687.0);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbReceiveErrorsTotal), 14);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbReceiveSwitchRelayErrorsTotal), 1);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbExcessiveBufferOverrunErrorsTotal), 15);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbRoceAdaptiveRetransmissionsTotal), 3);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbOutOfSequenceTotal), 0);
  EXPECT_FALSE(ValueOf(report, "mlx5_0/1", Metric::kIbCnpSentTotal).has_value()) << "this adapter has no such file";
  EXPECT_FALSE(ValueOf(report, "mlx5_bond_0/1", Metric::kIbSymbolErrorsTotal).has_value());
}

// Values of a Prometheus text by "name device/port".
std::map<std::string, double> ReadExpected(const std::string& path) {
  std::map<std::string, double> values;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    char name[128], device[64], port[8];
    double value = 0;
    if (std::sscanf(line.c_str(), "%127[a-z_]{device=\"%63[^\"]\",port=\"%7[^\"]\"} %lf", name, device, port, &value) ==
        4) {
      values[absl::StrCat(name, " ", device, "/", port)] = value;
    }
  }
  return values;
}

TEST_F(InfinibandSourceTest, AgreesWithNodeExporter) {
  constexpr struct {
    Metric metric;
    absl::string_view exporter_name;
    double scale;
  } kRows[] = {
      {Metric::kIbRateBitsPerSecond, "rate_bytes_per_second", 8},
      {Metric::kIbReceiveBytesTotal, "port_data_received_bytes_total", 1},
      {Metric::kIbTransmitBytesTotal, "port_data_transmitted_bytes_total", 1},
      {Metric::kIbReceivePacketsTotal, "port_packets_received_total", 1},
      {Metric::kIbTransmitPacketsTotal, "port_packets_transmitted_total", 1},
      {Metric::kIbTransmitWaitTotal, "port_transmit_wait_total", 1},
      {Metric::kIbLinkErrorRecoveryTotal, "link_error_recovery_total", 1},
      {Metric::kIbLinkDownedTotal, "link_downed_total", 1},
      {Metric::kIbReceiveErrorsTotal, "port_errors_received_total", 1},
      {Metric::kIbReceiveConstraintErrorsTotal, "port_constraint_errors_received_total", 1},
      {Metric::kIbTransmitConstraintErrorsTotal, "port_constraint_errors_transmitted_total", 1},
      {Metric::kIbTransmitDiscardsTotal, "port_discards_transmitted_total", 1},
  };
  UseFixture("node_exporter");
  const std::map<std::string, double> expected = ReadExpected(absl::StrCat(kTestdata, "node_exporter_expected.prom"));
  ASSERT_GT(expected.size(), 20u);
  const wire::AgentReport report = Collect();
  ASSERT_OK(last_);
  EXPECT_THAT(DevicesOf(report), ElementsAre("i40iw0/1", "mlx4_0/1", "mlx4_0/2"));
  int compared = 0;
  for (const std::string& device : DevicesOf(report)) {
    for (const auto& row : kRows) {
      const auto found = expected.find(absl::StrCat("node_infiniband_", row.exporter_name, " ", device));
      const absl::optional<double> value = ValueOf(report, device, row.metric);
      EXPECT_EQ(value.has_value(), found != expected.end()) << device << " " << row.exporter_name;
      if (value.has_value() && found != expected.end()) {
        EXPECT_EQ(*value, found->second * row.scale) << device << " " << row.exporter_name;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 15);
}

TEST_F(InfinibandSourceTest, AFileWithoutANumberCostsOnlyItself) {
  WritePort("mlx5_0", "1", "state", "1: DOWN\n");
  WritePort("mlx5_0", "1", "rate", "unknown\n");
  WritePort("mlx5_0", "1", "counters/symbol_error", "N/A (not applicable)\n");
  WritePort("mlx5_0", "1", "counters/link_downed", "");
  WritePort("mlx5_0", "1", "counters/port_rcv_errors", "-3\n");
  WritePort("mlx5_0", "1", "counters/port_xmit_wait/is_a_folder", "");
  WritePort("mlx5_0", "1", "counters/VL15_dropped", "18446744073709551615");
  const wire::AgentReport report = Collect();
  EXPECT_OK(last_);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbLinkUp), 0);
  EXPECT_EQ(ValueOf(report, "mlx5_0/1", Metric::kIbVl15DroppedTotal), 18446744073709551615.0);
  ASSERT_EQ(report.metrics_size(), 1);
  EXPECT_EQ(report.metrics(0).metrics_size(), 2) << "nothing but these two";
}

TEST_F(InfinibandSourceTest, OneSilentPortDoesNotHideTheOthers) {
  WritePort("mlx5_0", "1", "gids/0", "");
  WritePort("mlx5_1", "1", "state", "4: ACTIVE\n");
  EXPECT_THAT(DevicesOf(Collect()), ElementsAre("mlx5_1/1"));
  EXPECT_OK(last_);
}

TEST_F(InfinibandSourceTest, FailsWhenNoPortCanBeRead) {
  WritePort("mlx5_0", "1", "gids/0", "");
  Collect();
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, "none of 1 ports can be read"));
}

TEST_F(InfinibandSourceTest, FindsNewPortsAtTheNextScan) {
  WritePort("mlx5_0", "1", "state", "4: ACTIVE\n");
  EXPECT_THAT(DevicesOf(Collect(0)), ElementsAre("mlx5_0/1"));
  WritePort("mlx5_1", "1", "state", "4: ACTIVE\n");
  EXPECT_THAT(DevicesOf(Collect(1)), ElementsAre("mlx5_0/1"));
  EXPECT_THAT(DevicesOf(Collect(InfinibandSource::kRescanNs)), ElementsAre("mlx5_0/1", "mlx5_1/1"));
}

TEST_F(InfinibandSourceTest, ThePortsThatCanBeReadAreParts) {
  WritePort("mlx5_0", "1", "state", "4: ACTIVE\n");
  WritePort("mlx5_1", "1", "state", "4: ACTIVE\n");
  WritePort("mlx5_9", "1", "state", "4: ACTIVE\n");
  directory_.Write("sys/class/infiniband/mlx5_9/device/vendor", "0x15b3\n");
  std::filesystem::create_symlink("../0000:18:00.0", directory_.path() / "sys/class/infiniband/mlx5_9/device/physfn");
  Collect(0);
  EXPECT_THAT(source().parts(), ElementsAre("mlx5_0/1", "mlx5_1/1")) << "a virtual function is no part of the machine";
  std::filesystem::remove_all(directory_.path() / "sys/class/infiniband/mlx5_1");
  Collect(1);
  EXPECT_THAT(source().parts(), ElementsAre("mlx5_0/1"));
}

TEST_F(InfinibandSourceTest, CountsThePortsBeyondItsLimit) {
  for (size_t i = 0; i < InfinibandSource::kMaxPorts + 2; ++i) {
    WritePort(absl::StrCat("mlx5_", i), "1", "state", "4: ACTIVE\n");
  }
  const wire::AgentReport report = Collect();
  EXPECT_EQ(DevicesOf(report).size(), InfinibandSource::kMaxPorts);
  EXPECT_EQ(DroppedOf(report, "infiniband_ports"), 2u);
}

TEST_F(InfinibandSourceTest, HasNoDataWithoutAdapters) {
  Collect();
  EXPECT_TRUE(IsNoData(last_)) << last_;
  std::filesystem::create_directories(directory_.path() / "sys/class/infiniband");
  Collect();
  EXPECT_TRUE(IsNoData(last_)) << last_;
}

TEST(InfinibandRateTest, ReadsGigabits) {
  EXPECT_EQ(ParseInfinibandRate("400 Gb/sec (4X NDR)\n"), 400e9);
  EXPECT_EQ(ParseInfinibandRate("2.5 Gb/sec (1X SDR)"), 2.5e9);
  for (const char* text : {"", "400", "400 Mb/sec", "x Gb/sec", "-1 Gb/sec", "nan Gb/sec", "inf Gb/sec"}) {
    EXPECT_FALSE(ParseInfinibandRate(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace lockstep
