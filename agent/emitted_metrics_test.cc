// What the sources emit is the metric catalog, all of it and nothing else: over a machine that has everything, as
// files, a library that plays NVML, a RAS service and a dcgm-exporter's page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/rooted_fs.h"
#include "agent/source.h"
#include "agent/source_table.h"
#include "agent/sources/dcgm/dcgm_source.h"
#include "agent/sources/net/ethtool_statistics.h"
#include "agent/sources/net/net_source.h"
#include "agent/sources/ras/ras_source.h"
#include "agent/sources/ras/testing/fake_ras_server.h"
#include "agent/sources/ras/testing/ras_text.h"
#include "agent/testing/loopback_server.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::UnorderedElementsAreArray;

// As the kernel writes them.
constexpr struct {
  const char* path;
  const char* text;
} kFiles[] = {
    {"proc/stat", "cpu 100 0 100 800 0 0 0 0\nctxt 500\nprocs_running 2\nprocs_blocked 1\n"},
    {"proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 total=0\n"},
    {"proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 total=0\n"},
    {"proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 total=0\n"},
    {"proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\nDirty: 7 kB\n"},
    {"proc/vmstat", "pgmajfault 77\noom_kill 3\n"},
    {"proc/loadavg", "1.25 0.40 0.30 2/100 42\n"},
    {"proc/diskstats", " 259 0 nvme0n1 1 0 2000 0 1 0 4000 0 3 1500 0\n"},
    {"sys/block/nvme0n1/size", "1\n"},
    {"sys/class/net/eth0/device/vendor", "0x15b3\n"},
    {"sys/class/net/eth0/operstate", "up\n"},
    {"sys/class/net/eth0/speed", "100000\n"},
    {"sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"},
    {"sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"},
};

// Files that hold one number.
constexpr const char* kNetCounters[] = {
    "carrier_changes",       "statistics/rx_bytes",   "statistics/tx_bytes",
    "statistics/rx_packets", "statistics/tx_packets", "statistics/rx_errors",
    "statistics/tx_errors",  "statistics/rx_dropped", "statistics/tx_dropped",
};
constexpr const char* kPortCounters[] = {
    "counters/port_rcv_data",
    "counters/port_xmit_data",
    "counters/port_rcv_packets",
    "counters/port_xmit_packets",
    "counters/port_xmit_wait",
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/link_downed",
    "counters/port_rcv_errors",
    "counters/port_rcv_remote_physical_errors",
    "counters/port_rcv_switch_relay_errors",
    "counters/port_rcv_constraint_errors",
    "counters/port_xmit_constraint_errors",
    "counters/port_xmit_discards",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "counters/VL15_dropped",
    "hw_counters/out_of_buffer",
    "hw_counters/out_of_sequence",
    "hw_counters/packet_seq_err",
    "hw_counters/local_ack_timeout_err",
    "hw_counters/rnr_nak_retry_err",
    "hw_counters/implied_nak_seq_err",
    "hw_counters/duplicate_request",
    "hw_counters/req_cqe_error",
    "hw_counters/resp_cqe_error",
    "hw_counters/roce_adp_retrans",
    "hw_counters/roce_slow_restart",
    "hw_counters/np_cnp_sent",
    "hw_counters/rp_cnp_handled",
    "hw_counters/np_ecn_marked_roce_packets",
    "hw_counters/rx_icrc_encapsulated",
};

// As mlx5 tells them; each is 1.
class Mlx5Statistics final : public EthtoolStatistics {
 public:
  absl::StatusOr<std::vector<std::string>> Names(const std::string&) override { return names_; }
  absl::StatusOr<std::vector<uint64_t>> Values(const std::string&) override {
    return std::vector<uint64_t>(names_.size(), 1);
  }

 private:
  const std::vector<std::string> names_ = {
      "rx_packets",     "rx_discards_phy",         "rx_out_of_buffer",        "rx_prio3_pause",
      "tx_prio3_pause", "rx_prio3_pause_duration", "tx_prio3_pause_duration", "rx_crc_errors_phy",
      "rx_ecn_mark"};
};

class EmittedMetricsTest : public testing::Test {
 protected:
  EmittedMetricsTest() {
    for (const auto& file : kFiles) directory_.Write(file.path, file.text);
    for (const char* name : kNetCounters) directory_.Write(absl::StrCat("sys/class/net/eth0/", name), "1\n");
    for (const char* name : kPortCounters) {
      directory_.Write(absl::StrCat("sys/class/infiniband/mlx5_0/ports/1/", name), "1\n");
    }
    options_.root = directory_.path().string();
    options_.nvml_library = std::filesystem::absolute("agent/sources/nvml/testing/libnvidia-ml-fake.so");
    options_.dcgm_exporter_url = absl::StrCat("http://127.0.0.1:", exporter_.port(), "/metrics");
  }

  // Of the only row with that name.
  std::unique_ptr<Source> Make(absl::string_view name) {
    for (const SourceRow& row : SourceTable()) {
      if (row.name == name) return *row.create(options_);
    }
    return nullptr;
  }

  absl::Status TickAt(Source& source, int64_t second) {
    wire::AgentReport report;
    const absl::Status status = source.Collect(Tick{.monotonic_ns = second * kNanosPerSecond}, report);
    for (const wire::MetricBlock& block : report.metrics()) {
      for (const uint32_t metric : block.metrics()) emitted_.insert(static_cast<Metric>(metric));
    }
    return status;
  }

  void Script(const std::string& text) { setenv("LOCKSTEP_FAKE_NVML", directory_.Write("script", text).c_str(), 1); }

  // Ratios are over the time between two ticks.
  void RunHost() {
    const std::unique_ptr<Source> host = Make("host");
    EXPECT_OK(TickAt(*host, 1));
    directory_.Write("proc/stat", "cpu 150 0 120 810 10 0 0 10\nctxt 501\nprocs_running 2\nprocs_blocked 1\n");
    EXPECT_OK(TickAt(*host, 2));
  }

  // What the table makes of it asks the driver of this machine.
  void RunNet() {
    NetSource net(*RootedFs::Open(options_.root), std::make_unique<Mlx5Statistics>());
    EXPECT_OK(TickAt(net, 1));
  }

  // Of two generations of NVLink, which have no counters in common.
  void RunNvml() {
    for (const char* script : {"fabric done\n", "nvlink 5\n"}) {
      Script(script);
      EXPECT_OK(TickAt(*Make("nvml"), 1)) << script;
    }
  }

  // Knows GPUs from NVML.
  void RunDcgm() { EXPECT_OK(TickAt(*Make("dcgm_exporter"), 1)); }

  void RunRas() {
    FakeRasServer service(RasText({{.id = 21, .members = {{.rank = 0}}}}));
    RasSource ras({"127.0.0.1", service.port()}, Random(1), [] { return std::vector<std::string>{"127.0.0.1"}; });
    // It asks at a time of its own, and time stands still until it has the answer.
    for (int64_t second = 1; emitted_.count(Metric::kNcclRasCommunicators) == 0; ++second) {
      do {
        TickAt(ras, second).IgnoreError();
      } while (ras.is_asking());
    }
  }

  static std::string ExporterAnswer() {
    std::string page;
    for (const DcgmField& field : DcgmFields()) {
      absl::StrAppend(&page, field.theirs, "{gpu=\"0\",UUID=\"GPU-00000000-0000-0000-0000-000000000000\"} 0.5\n");
    }
    return absl::StrCat("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ", page.size(), "\r\n\r\n", page);
  }

  TemporaryDirectory directory_;
  SourceOptions options_;
  std::set<Metric> emitted_;
  LoopbackServer exporter_{[](int connection, int stop) {
    char request[4096];
    if (!LoopbackServer::WaitFor(connection, POLLIN, stop)) return;
    if (recv(connection, request, sizeof(request), 0) <= 0) return;
    const std::string answer = ExporterAnswer();
    send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  }};
};

TEST_F(EmittedMetricsTest, AreTheCatalog) {
  const std::pair<absl::string_view, std::function<void()>> kRuns[] = {
      {"kernel_log", [] {}},  // tells of events
      {"host", [this] { RunHost(); }},
      {"net", [this] { RunNet(); }},
      {"infiniband", [this] { EXPECT_OK(TickAt(*Make("infiniband"), 1)); }},
      {"nccl_ras", [this] { RunRas(); }},
      {"nvml", [this] { RunNvml(); }},
      {"dcgm_exporter", [this] { RunDcgm(); }},
  };
  std::vector<absl::string_view> run;
  for (const auto& [name, collect] : kRuns) {
    run.push_back(name);
    collect();
  }
  std::vector<absl::string_view> rows;
  for (const SourceRow& row : SourceTable()) rows.push_back(row.name);
  EXPECT_EQ(run, rows) << "every source is here";

  std::set<absl::string_view> emitted;
  for (const Metric metric : emitted_) {
    ASSERT_NE(FindMetric(metric), nullptr) << static_cast<int>(metric);
    emitted.insert(FindMetric(metric)->name);
  }
  std::set<absl::string_view> catalog;
  for (const MetricInfo& info : MetricCatalog()) catalog.insert(info.name);
  EXPECT_THAT(emitted, UnorderedElementsAreArray(catalog));
}

}  // namespace
}  // namespace lockstep
