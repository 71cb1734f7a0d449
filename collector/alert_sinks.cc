#include "collector/alert_sinks.h"

namespace lockstep {

AlertSinks::AlertSinks(const std::vector<std::string>& webhook_urls, const Clock& clock, Random random) {
  for (const std::string& url : webhook_urls) {
    WebhookSinkOptions options;
    options.http.url = url;
    webhooks_.push_back(std::make_unique<WebhookSink>(options, clock, Random(random.Next())));
  }
}

void AlertSinks::Announce(const IncidentEvent& event) {
  log_.Announce(event);
  for (const std::unique_ptr<WebhookSink>& webhook : webhooks_) webhook->Announce(event);
}

void AlertSinks::ExportTo(CollectorMetrics& metrics) const {
  WebhookSinkStats total;
  for (const std::unique_ptr<WebhookSink>& webhook : webhooks_) {
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
