#include "collector/alert_sinks.h"

namespace lockstep {

AlertSinks::AlertSinks(const std::vector<std::string>& webhook_urls, const Clock& clock, Random random,
                       const OnDone& on_done) {
  for (const std::string& url : webhook_urls) {
    WebhookSinkOptions options;
    options.http.url = url;
    std::unique_ptr<WebhookSink>& webhook = webhooks_[url];
    if (webhook != nullptr) continue;
    webhook =
        std::make_unique<WebhookSink>(options, clock, Random(random.Next()),
                                      [url, on_done](const std::vector<uint64_t>& numbers) { on_done(url, numbers); });
  }
}

std::vector<std::string> AlertSinks::names() const {
  std::vector<std::string> names;
  for (const auto& [url, webhook] : webhooks_) names.push_back(url);
  return names;
}

void AlertSinks::Tell(const IncidentEvent& event, uint64_t number) {
  log_.Announce(event);
  for (const auto& [url, webhook] : webhooks_) webhook->Announce(event, number);
}

bool AlertSinks::TellAgain(const std::string& name, const IncidentEvent& event, uint64_t number) {
  const auto found = webhooks_.find(name);
  if (found == webhooks_.end()) return false;
  found->second->Announce(event, number);
  return true;
}

void AlertSinks::ExportTo(CollectorMetrics& metrics) const {
  WebhookSinkStats total;
  for (const auto& [url, webhook] : webhooks_) {
    const WebhookSinkStats stats = webhook->stats();
    total.sent += stats.sent;
    total.retried += stats.retried;
    total.failed += stats.failed;
    total.dropped += stats.dropped;
    total.waiting += stats.waiting;
  }
  metrics.SetAlertTotals(
      {{"sent", total.sent}, {"retried", total.retried}, {"failed", total.failed}, {"dropped", total.dropped}});
  metrics.alerts_waiting.Set(static_cast<double>(total.waiting));
}

}  // namespace lockstep
