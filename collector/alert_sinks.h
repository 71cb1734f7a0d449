// Every place where incidents are announced: the log of the collector, and any number of receivers by routes.
//
// Who was told of an incident is told of its end, whatever the routes say of it by then. A receiver that is new is told
// of what is open. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_SINKS_H_
#define LOCKSTEP_COLLECTOR_ALERT_SINKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "collector/alert/alert_courier.h"
#include "collector/alert/alert_inheritance.h"
#include "collector/alert/alert_receivers.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/change_id.h"
#include "collector/alert/log_sink.h"
#include "collector/alert_memory.h"
#include "collector/metrics.h"

namespace lockstep {

class AlertSinks final : public AlertReceivers {
 public:
  // Open incidents that are remembered; of those beyond, the routes alone say who is told.
  static constexpr size_t kMaxOpen = 10'000;

  // `clock` is borrowed; each URL of each receiver gets a thread of its own. `memory` is called from them, and from
  // Tell and Inherit. `pace`: limits and times of each.
  AlertSinks(const AlertRoutes& routes, const Clock& clock, Random random, AlertMemory memory,
             const AlertCourierOptions& pace = {});

  // Couriers may still send what waits, all at the same time, for up to two seconds.
  ~AlertSinks() override;

  // AlertReceivers. The names are those of couriers (CourierName); the log needs no memory.
  std::vector<std::string> NamesFor(const IncidentEvent& event) const override;
  void Tell(const IncidentEvent& event, const ChangeId& id) override;
  void NoteUntold(const wire::Incident& incident) override;
  std::vector<std::string> NoteWritten(uint64_t ticket, uint64_t number) override;
  std::vector<AlertInheritance::Left> Inherit(const AlertInheritance& inheritance) override;

  // From now on these are told, and no others: one that is gone, or is told otherwise, may still send what waits, for
  // up to two seconds, during which this and Tell block. However many there are, it takes no longer. What the metrics
  // counted of it stays.
  void SetRoutes(const AlertRoutes& routes);

  // Brings the metrics up to what the couriers have counted, and what is open.
  void ExportTo(CollectorMetrics& metrics) const;

 private:
  struct Courier {
    ReceiverSpec receiver;
    AlertLinks links;
    std::shared_ptr<AlertCourier> thread;
  };
  struct Open {
    wire::Incident incident;
    std::set<std::string> receivers;  // that were told
  };
  using Couriers = std::map<std::string, Courier>;  // by name of the courier

  Couriers couriers() const;
  std::set<std::string> CourierNamesLocked(const wire::Incident& incident) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberLocked(const IncidentEvent& event, const std::set<std::string>& receivers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Courier MakeCourier(const ReceiverSpec& receiver, const std::string& url, const AlertLinks& links)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What `next` has to know of what `before` has told.
  std::vector<ToldIncidents::Last> LastOf(const Courier& before, const Courier& next) const;
  // What is open and concerns the courier of that name.
  std::vector<wire::Incident> OpenForLocked(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellOfOpenLocked(AlertCourier& courier, const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ToldIncidents::Last LastOf(const ToldAlert& told) const;

  const Clock& clock_;
  const AlertMemory memory_;
  const AlertCourierOptions pace_;
  LogSink log_;
  Mutex telling_;  // held while receivers are told or exchanged; taken before mutex_
  mutable Mutex mutex_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  AlertRoutes routes_ ABSL_GUARDED_BY(mutex_);
  Couriers couriers_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Open> open_ ABSL_GUARDED_BY(mutex_);                     // by number, at most kMaxOpen
  std::map<std::string, AlertCourierStats> of_gone_ ABSL_GUARDED_BY(mutex_);  // what couriers counted that are no more
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_SINKS_H_
