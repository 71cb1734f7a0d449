#include "collector/testing/secured_collector.h"

#include <grpcpp/create_channel.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "daemon/tls/channel_security.h"
#include "daemon/tls/testing/empty_call.h"

namespace lockstep {

const char kSecuredRules[] = R"yaml(
certificates:
  - {match: "spiffe://example.org/agent/{host}", role: agent}
  - {match: "spiffe://example.org/vision/{host}", role: agent, jobs: [vision-*, resnet]}
  - {match: "cn:viewer", role: viewer}
  - {match: "cn:operator", role: operator}
  - {match: "cn:speaker", role: operator, tenant: speech}
  - {match: "cn:admin", role: admin}
  - {match: "cn:vision", role: viewer, tenant: vision}
tenants:
  vision: [vision-*]
  speech: [speech-*]
)yaml";

void SecuredCollector::SetUp() {
  options_.listen_address = "127.0.0.1:0";
  options_.pages.address = "127.0.0.1:0";
  options_.tls = authority_.Issue("collector", "collector", "IP:127.0.0.1");
  options_.access_rules = directory_.Write("access.yaml", kSecuredRules).string();
  Start();
}

void SecuredCollector::StartOn(HistoryStore& history, HistoryBackups* backups) {
  collector_.reset();
  auto collector = Collector::Start(options_, {clock_, time_line_, history, receivers_, metrics_, backups});
  ASSERT_OK(collector);
  collector_ = *std::move(collector);
  while (!collector_->Ready().ok()) StopSignal().WaitFor(kNanosPerMilli);
}

std::shared_ptr<grpc::Channel> SecuredCollector::Connect(const TlsFiles& files) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto credentials = MakeChannelCredentials({files, ""}, arguments);
  EXPECT_OK(credentials);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", collector_->grpc_port()), *credentials, arguments);
}

std::shared_ptr<grpc::Channel> SecuredCollector::ConnectAs(const std::string& common_name) {
  return Connect(authority_.Issue(common_name, common_name, ""));
}

std::shared_ptr<grpc::Channel> SecuredCollector::ConnectAgent(const std::string& host) {
  return Connect(authority_.Issue("agent-" + host, "agent", "URI:spiffe://example.org/agent/" + host));
}

grpc::Status SecuredCollector::Call(const std::shared_ptr<grpc::Channel>& channel, absl::string_view method) {
  std::string path = absl::StrCat("/", method);
  path[path.rfind('.')] = '/';
  return CallWithNothing(channel, path);
}

bool SecuredCollector::IsRefusal(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
         status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
}

double SecuredCollector::Counter(const std::string& name, const std::string& label) {
  for (const prometheus::MetricFamily& family : metrics_.registry()->Collect()) {
    if (family.name != name) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (metric.label.at(0).value == label) return metric.counter.value;
    }
  }
  return 0;
}

}  // namespace lockstep
