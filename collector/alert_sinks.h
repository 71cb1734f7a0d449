// Every place where incidents are announced: the log of the collector, and any number of webhooks.
//
// Thread-safe, as the sinks are.

#ifndef LOCKSTEP_COLLECTOR_ALERT_SINKS_H_
#define LOCKSTEP_COLLECTOR_ALERT_SINKS_H_

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "collector/alert/alert_sink.h"
#include "collector/alert/log_sink.h"
#include "collector/alert/webhook_sink.h"
#include "collector/metrics.h"

namespace lockstep {

class AlertSinks final : public AlertSink {
 public:
  // `clock` is borrowed; each webhook gets a thread of its own.
  AlertSinks(const std::vector<std::string>& webhook_urls, const Clock& clock, Random random);

  void Announce(const IncidentEvent& event) override;

  // Brings the metrics up to what the webhooks have counted.
  void ExportTo(CollectorMetrics& metrics) const;

 private:
  LogSink log_;
  std::vector<std::unique_ptr<WebhookSink>> webhooks_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_SINKS_H_
