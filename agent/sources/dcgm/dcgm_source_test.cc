#include "agent/sources/dcgm/dcgm_source.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/gpu_names.h"
#include "agent/sources/dcgm/prometheus_text.h"
#include "agent/testing/report_view.h"
#include "agent/unique_fd.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/testing/status_matchers.h"
#include "daemon/http_client.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A web server on loopback that says the same to everybody, until it is destroyed.
class OnePageServer {
 public:
  explicit OnePageServer(std::string answer) : answer_(std::move(answer)), socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(socket_.get(), 4), 0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~OnePageServer() {
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  static std::string Ok(const std::string& page) {
    return absl::StrCat("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ", page.size(), "\r\n\r\n", page);
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_, "/metrics"); }
  int asked() const { return asked_; }  // read after an answer: whoever got it saw it counted

 private:
  void Serve() {
    for (;;) {
      const UniqueFd client(accept(socket_.get(), nullptr, nullptr));
      if (!client.valid()) return;
      char request[4096];
      if (recv(client.get(), request, sizeof(request), 0) <= 0) continue;
      ++asked_;
      for (size_t sent = 0; sent < answer_.size();) {
        const ssize_t some = send(client.get(), &answer_[sent], answer_.size() - sent, MSG_NOSIGNAL);
        if (some <= 0) break;
        sent += static_cast<size_t>(some);
      }
    }
  }

  const std::string answer_;
  const UniqueFd socket_;
  uint16_t port_ = 0;
  std::atomic<int> asked_{0};
  std::thread thread_;
};

constexpr char kPage[] = R"(# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-b",device="nvidia0",modelName="NVIDIA H100"} 1980
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-b",device="nvidia0"} 0.875
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-b",pod="a \"quoted\" one"} 0.5 1700000000000
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-b"} 0.25
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-b"} 0.99
DCGM_FI_PROF_NVLINK_TX_BYTES{gpu="0",UUID="GPU-b"} 3e9
DCGM_FI_PROF_NVLINK_RX_BYTES{gpu="0",UUID="GPU-b"} 4e9
DCGM_FI_PROF_SM_ACTIVE{gpu="1",UUID="GPU-a"} 0.5
DCGM_FI_PROF_SM_ACTIVE{gpu="1",UUID="GPU-a",GPU_I_ID="3",GPU_I_PROFILE="1g.10gb"} 0.7
DCGM_FI_PROF_SM_ACTIVE{gpu="2",UUID="GPU-of-nobody"} 0.6
DCGM_FI_PROF_DRAM_ACTIVE{gpu="1",UUID="GPU-a"} 140737488355328
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="1",UUID="GPU-a"} NaN
this line is no sample
)";

class DcgmSourceTest : public testing::Test {
 protected:
  DcgmSourceTest() {
    names_->Set({{.index = 0, .uuid = "GPU-a"}, {.index = 1, .uuid = "GPU-b"}, {.index = 2, .uuid = ""}});
  }

  wire::AgentReport Collect(DcgmSource& source, int64_t second = 0) {
    wire::AgentReport report;
    last_ = source.Collect(Tick{.monotonic_ns = second * kNanosPerSecond}, report);
    return report;
  }

  const std::shared_ptr<GpuNames> names_ = std::make_shared<GpuNames>();
  absl::Status last_;
};

TEST_F(DcgmSourceTest, GivesProfilingCountersToTheGpuOfTheirUuid) {
  const OnePageServer server(OnePageServer::Ok(kPage));
  DcgmSource source(server.url(), names_);
  const wire::AgentReport report = Collect(source, 5);
  EXPECT_OK(last_);
  EXPECT_THAT(DevicesOf(report), ElementsAre("gpu0", "gpu1"));
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuSmActiveRatio), 0.875) << "NVML's index, not the exporter's";
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuTensorActiveRatio), 0.5);
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuDramActiveRatio), 0.25);
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuGraphicsActiveRatio), 0.99);
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuNvlinkBytesPerSecond), 7e9) << "both directions";
  EXPECT_EQ(ValueOf(report, "gpu0", Metric::kGpuSmActiveRatio), 0.5) << "the whole GPU's, not an instance's";
  EXPECT_FALSE(ValueOf(report, "gpu0", Metric::kGpuDramActiveRatio).has_value()) << "DCGM's blank";
  EXPECT_FALSE(ValueOf(report, "gpu0", Metric::kGpuTensorActiveRatio).has_value());
  EXPECT_FALSE(ValueOf(report, "gpu1", Metric::kGpuSmClockHertz).has_value()) << "NVML has that";
  EXPECT_EQ(report.metrics(0).monotonic_ns(), 5 * kNanosPerSecond);
  EXPECT_EQ(report.dropped_size(), 0) << "nothing of the agent's own was lost";
}

// As an exporter writes it of two GPUs, of which the first is divided: NVML's ids of GPU instances, no samples of the
// whole. One GPU instance holds two MIG instances, and one is of before somebody divided the GPU anew.
constexpr char kDividedPage[] = R"(# TYPE DCGM_FI_PROF_SM_ACTIVE gauge
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",pci_bus_id="00000000:3B:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",GPU_I_PROFILE="1g.10gb",GPU_I_ID="9",Hostname="node-1"} 0.25
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",pci_bus_id="00000000:3B:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",GPU_I_PROFILE="2g.20gb",GPU_I_ID="3",Hostname="node-1"} 0.75
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_PROFILE="3g.40gb",GPU_I_ID="1",Hostname="node-1"} 0.5
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.10gb",GPU_I_ID="13",Hostname="node-1"} 0.5
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.10gb",GPU_I_ID="-1",Hostname="node-1"} 0.5
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.10gb",GPU_I_ID="nine",Hostname="node-1"} 0.5
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.10gb",GPU_I_ID="9",Hostname="node-1"} 0.125
DCGM_FI_PROF_SM_ACTIVE{gpu="1",UUID="GPU-b",Hostname="node-1"} 0.9
)";

TEST_F(DcgmSourceTest, GivesWhatIsOfAnInstanceToTheOneThatHasItsId) {
  names_->Set({{.index = 0,
                .uuid = "GPU-a",
                .instances = {{.uuid = "MIG-0", .index = 0, .gpu_instance = 3},
                              {.uuid = "MIG-1", .index = 1, .gpu_instance = 9},
                              {.uuid = "MIG-2", .index = 2, .gpu_instance = 1},
                              {.uuid = "MIG-3", .index = 3, .gpu_instance = 1},
                              {.uuid = "MIG-5", .index = 5}}},
               {.index = 1, .uuid = "GPU-b"}});
  const OnePageServer server(OnePageServer::Ok(kDividedPage));
  DcgmSource source(server.url(), names_);
  const wire::AgentReport report = Collect(source);
  EXPECT_OK(last_);
  EXPECT_THAT(DevicesOf(report), ElementsAre("gpu0/mig0", "gpu0/mig1", "gpu1"));
  EXPECT_EQ(ValueOf(report, "gpu0/mig0", Metric::kGpuSmActiveRatio), 0.75);
  EXPECT_EQ(ValueOf(report, "gpu0/mig1", Metric::kGpuSmActiveRatio), 0.25) << "by its id, not in the order of indices";
  EXPECT_EQ(ValueOf(report, "gpu0/mig1", Metric::kGpuTensorActiveRatio), 0.125);
  EXPECT_FALSE(ValueOf(report, "gpu0/mig0", Metric::kGpuTensorActiveRatio).has_value());
  EXPECT_EQ(ValueOf(report, "gpu1", Metric::kGpuSmActiveRatio), 0.9);
}

TEST_F(DcgmSourceTest, ScrapesOncePerPeriod) {
  const OnePageServer server(OnePageServer::Ok(kPage));
  DcgmSource source(server.url(), names_);
  EXPECT_GT(Collect(source, 0).metrics_size(), 0);
  for (int second = 1; second < 10; ++second) EXPECT_EQ(Collect(source, second).metrics_size(), 0);
  EXPECT_OK(last_);
  EXPECT_EQ(server.asked(), 1);
  EXPECT_GT(Collect(source, 10).metrics_size(), 0);
}

TEST_F(DcgmSourceTest, FailsWhereNobodyAnswersAsItShould) {
  std::string url;
  {
    const OnePageServer server(OnePageServer::Ok("up 1\n"));
    url = server.url();
    DcgmSource source(url, names_);
    Collect(source);
    EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("of the 0 samples of profiling fields")));
    Collect(source, 1);
    EXPECT_FALSE(last_.ok()) << "until it is asked again";
  }
  const OnePageServer known(OnePageServer::Ok(kPage));
  const auto others = std::make_shared<GpuNames>();
  DcgmSource blind(known.url(), others);
  Collect(blind);
  EXPECT_TRUE(IsNoData(last_)) << "NVML has told of none yet";
  EXPECT_EQ(known.asked(), 0);
  others->Set({{.index = 0, .uuid = "GPU-c"}});
  Collect(blind, 1);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("11 are of no GPU that NVML knows")));

  DcgmSource nobody(url, names_);
  Collect(nobody);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("dcgm-exporter")));

  const OnePageServer missing("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  DcgmSource source(missing.url(), names_);
  Collect(source);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("status 404")));
}

TEST_F(DcgmSourceTest, FollowsNobodyElsewhereAndTakesNoPageWithoutEnd) {
  const OnePageServer there(OnePageServer::Ok(kPage));
  const OnePageServer redirect(absl::StrCat("HTTP/1.1 302 Found\r\nLocation: ", there.url(),
                                            "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  DcgmSource follower(redirect.url(), names_);
  Collect(follower);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("status 302")));
  EXPECT_EQ(there.asked(), 0);

  const OnePageServer huge(OnePageServer::Ok(std::string(DcgmSource::kMaxPageBytes + 1, '#')));
  DcgmSource source(huge.url(), names_);
  EXPECT_EQ(Collect(source).metrics_size(), 0);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("4194304")));

  // Whatever the environment says of proxies.
  setenv("http_proxy", redirect.url().c_str(), 1);
  DcgmSource direct(there.url(), names_);
  EXPECT_GT(Collect(direct).metrics_size(), 0);
  unsetenv("http_proxy");
}

TEST_F(DcgmSourceTest, AsksThisMachineAlone) {
  for (const char* url :
       {"http://127.0.0.1:9400/metrics", "http://localhost:9400/metrics", "http://[::1]:9400/", "http://127.0.0.1"}) {
    EXPECT_OK(CheckLoopbackUrl(url)) << url;
  }
  for (const char* url :
       {"", "9400", "http://10.0.0.5:9400/metrics", "http://169.254.169.254/", "https://127.0.0.1:9400/metrics",
        "http://127.0.0.1.example.com/", "http://127.0.0.1@example.com/", "http://example.com#@127.0.0.1/",
        "http://user@127.0.0.1/", "file:///etc/passwd", "http://0.0.0.0:9400/", "http://example.com/127.0.0.1"}) {
    EXPECT_THAT(CheckLoopbackUrl(url), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(""))) << url;
  }
  DcgmSource elsewhere("http://10.0.0.5:9400/metrics", names_);
  Collect(elsewhere);
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not on this machine")));
}

TEST(PrometheusTextTest, TakesSamplesAsTheyStand) {
  absl::string_view text =
      "\n  # a comment\nup 1\n  a:b_c { x = \"1\\\\2\\\"3\\n4\" , y=\"\", } -2.5e3 17\r\nempty{} +Inf\nlast NaN";
  PrometheusSample sample;
  uint64_t malformed = 0;
  ASSERT_TRUE(TakePrometheusSample(text, sample, malformed));
  EXPECT_EQ(sample.name, "up");
  EXPECT_EQ(sample.value, 1);
  ASSERT_TRUE(TakePrometheusSample(text, sample, malformed));
  EXPECT_EQ(sample.name, "a:b_c");
  EXPECT_THAT(sample.labels, ElementsAre(Pair("x", "1\\2\"3\n4"), Pair("y", "")));
  EXPECT_EQ(sample.Label("z"), "");
  EXPECT_EQ(sample.value, -2500);
  ASSERT_TRUE(TakePrometheusSample(text, sample, malformed));
  EXPECT_TRUE(std::isinf(sample.value));
  ASSERT_TRUE(TakePrometheusSample(text, sample, malformed));
  EXPECT_TRUE(std::isnan(sample.value));
  EXPECT_FALSE(TakePrometheusSample(text, sample, malformed));
  EXPECT_EQ(malformed, 0u);
}

TEST(PrometheusTextTest, CountsWhatIsNoSampleAndGoesOn) {
  std::string many = "many{";
  for (size_t i = 0; i <= kMaxPrometheusLabels; ++i) absl::StrAppend(&many, "l", i, "=\"\",");
  const std::string bad[] = {"name",
                             "name{",
                             "name{a}1",
                             "name{a=1} 1",
                             "name{a=\"1} 1",
                             "name{a=\"\\q\"} 1",
                             "name{a=\"\\",
                             "{a=\"1\"} 1",
                             "name 1 2 3",
                             "name one",
                             "name{a=\"1\" b=\"2\"} 1",
                             many + "} 1",
                             "name 1 2.5",
                             std::string("na\0me 1", 7)};
  for (const std::string& line : bad) {
    const std::string page = line + "\nup 1\n";
    absl::string_view text = page;
    PrometheusSample sample;
    uint64_t malformed = 0;
    ASSERT_TRUE(TakePrometheusSample(text, sample, malformed)) << line;
    EXPECT_EQ(sample.name, "up") << line;
    EXPECT_EQ(malformed, 1u) << line;
  }
}

}  // namespace
}  // namespace lockstep
