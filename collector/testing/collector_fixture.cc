#include "collector/testing/collector_fixture.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"

namespace lockstep {

void CollectorFixture::StartCollector() {
  collector_.reset();
  CollectorOptions options;
  options.listen_address = "127.0.0.1:0";
  options.pages.address = "127.0.0.1:0";
  options.shards = 2;
  options.detector.host_silent = host_silent_;
  metrics_ = std::make_unique<CollectorMetrics>("test");
  auto collector = Collector::Start(options, {clock_, time_line_, store_, receivers_, *metrics_});
  ASSERT_OK(collector);
  collector_ = *std::move(collector);
  channel_ =
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", collector_->grpc_port()), grpc::InsecureChannelCredentials());
  query_ = wire::Query::NewStub(channel_);
}

double CollectorFixture::Dropped(const std::string& reason) {
  for (const prometheus::MetricFamily& family : metrics_->registry()->Collect()) {
    if (family.name != "lockstep_collector_dropped_total") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (metric.label.at(0).value == reason) return metric.counter.value;
    }
  }
  return 0;
}

uint64_t CollectorFixture::Evaluations() {
  for (const prometheus::MetricFamily& family : metrics_->registry()->Collect()) {
    if (family.name == "lockstep_collector_detection_duration_seconds") {
      return family.metric.at(0).histogram.sample_count;
    }
  }
  return 0;
}

}  // namespace lockstep
