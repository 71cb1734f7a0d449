// Every place where incidents are announced: the log of the collector, and any number of webhooks.
//
// Thread-safe, as the sinks are.

#ifndef LOCKSTEP_COLLECTOR_ALERT_SINKS_H_
#define LOCKSTEP_COLLECTOR_ALERT_SINKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "collector/alert/alert_receivers.h"
#include "collector/alert/change_id.h"
#include "collector/alert/log_sink.h"
#include "collector/alert/webhook_sink.h"
#include "collector/metrics.h"
#include "collector/webhook_targets.h"

namespace lockstep {

class AlertSinks final : public AlertReceivers {
 public:
  // History may forget that `receiver` has to be told of the changes of these numbers. Called from threads of webhooks.
  using OnDone = std::function<void(const std::string& receiver, const std::vector<uint64_t>& numbers)>;

  // `clock` is borrowed; each webhook gets a thread of its own.
  AlertSinks(const WebhookTargets& webhooks, const Clock& clock, Random random, OnDone on_done);

  // AlertReceivers. The webhooks are named by their URL; the log needs no memory.
  std::vector<std::string> names() const override;
  void Tell(const IncidentEvent& event, const ChangeId& id) override;
  std::vector<std::string> NoteWritten(uint64_t ticket, uint64_t number) override;
  bool TellAgain(const std::string& name, const IncidentEvent& event, uint64_t number) override;

  // From now on these are told, and no others: one that is gone may still send what waits, for up to two seconds,
  // during which this blocks. What the metrics counted of it stays.
  void SetWebhooks(const WebhookTargets& targets);

  // Brings the metrics up to what the webhooks have counted.
  void ExportTo(CollectorMetrics& metrics) const;

 private:
  using Webhooks = std::map<std::string, std::shared_ptr<WebhookSink>>;  // by URL

  Webhooks webhooks() const;

  const Clock& clock_;
  const OnDone on_done_;
  LogSink log_;
  mutable Mutex mutex_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  Webhooks webhooks_ ABSL_GUARDED_BY(mutex_);
  std::string authorities_ ABSL_GUARDED_BY(mutex_);   // of those
  WebhookSinkStats of_gone_ ABSL_GUARDED_BY(mutex_);  // what webhooks counted that are no more
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_SINKS_H_
