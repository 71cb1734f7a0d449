#include "collector/alert_sinks.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

void AddTo(WebhookSinkStats& total, const WebhookSinkStats& stats) {
  total.sent += stats.sent;
  total.retried += stats.retried;
  total.failed += stats.failed;
  total.dropped += stats.dropped;
}

}  // namespace

AlertSinks::AlertSinks(const WebhookTargets& webhooks, const Clock& clock, Random random, OnDone on_done)
    : clock_(clock), on_done_(std::move(on_done)), random_(random) {
  SetWebhooks(webhooks);
}

void AlertSinks::SetWebhooks(const WebhookTargets& targets) {
  const std::vector<std::string>& urls = targets.urls;
  Webhooks gone;
  {
    MutexLock lock(mutex_);
    const bool same_authorities = std::exchange(authorities_, targets.authorities) == targets.authorities;
    for (auto it = webhooks_.begin(); it != webhooks_.end();) {
      const bool stays = same_authorities && std::find(urls.begin(), urls.end(), it->first) != urls.end();
      if (stays) {
        ++it;
        continue;
      }
      AddTo(of_gone_, it->second->stats());
      gone.insert(webhooks_.extract(it++));
    }
    for (const std::string& url : urls) {
      std::shared_ptr<WebhookSink>& webhook = webhooks_[url];
      if (webhook != nullptr) continue;
      WebhookSinkOptions options;
      options.http.url = url;
      options.http.authorities = targets.authorities;
      webhook =
          std::make_shared<WebhookSink>(options, clock_, Random(random_.Next()),
                                        [this, url](const std::vector<uint64_t>& numbers) { on_done_(url, numbers); });
    }
  }
}

AlertSinks::Webhooks AlertSinks::webhooks() const {
  MutexLock lock(mutex_);
  return webhooks_;
}

std::vector<std::string> AlertSinks::names() const {
  std::vector<std::string> names;
  for (const auto& [url, webhook] : webhooks()) names.push_back(url);
  return names;
}

void AlertSinks::Tell(const IncidentEvent& event, const ChangeId& id) {
  log_.Announce(event);
  for (const auto& [url, webhook] : webhooks()) webhook->Announce(event, id);
}

std::vector<std::string> AlertSinks::NoteWritten(uint64_t ticket, uint64_t number) {
  std::vector<std::string> done;
  for (const auto& [url, webhook] : webhooks()) {
    if (!webhook->NoteWritten(ticket, number)) done.push_back(url);
  }
  return done;
}

bool AlertSinks::TellAgain(const std::string& name, const IncidentEvent& event, uint64_t number) {
  const Webhooks now = webhooks();
  const auto found = now.find(name);
  if (found == now.end()) return false;
  found->second->Announce(event, {.number = number});
  return true;
}

void AlertSinks::ExportTo(CollectorMetrics& metrics) const {
  WebhookSinkStats total;
  {
    MutexLock lock(mutex_);
    total = of_gone_;
  }
  for (const auto& [url, webhook] : webhooks()) {
    const WebhookSinkStats stats = webhook->stats();
    AddTo(total, stats);
    total.waiting += stats.waiting;
  }
  metrics.SetAlertTotals(
      {{"sent", total.sent}, {"retried", total.retried}, {"failed", total.failed}, {"dropped", total.dropped}});
  metrics.alerts_waiting.Set(static_cast<double>(total.waiting));
}

}  // namespace lockstep
