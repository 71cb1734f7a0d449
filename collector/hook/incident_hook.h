// Runs a program of the operator when an incident opens: opt-in, by default in words alone, and never without limits.
//
// A sink in front of another one, which hears everything first: what is announced is put into a queue, and a thread
// takes care of it, so that neither detection nor alerts wait. Incidents that fit the spec, and of which somebody would
// be called, come to their turn at most every `every_ns`; one that is over by then, is quiet, or that somebody has in
// hand, is left alone. Then the ration counts (hook_ration.h), the program is checked (child_process.h), and the audit
// keeps what is to be run, on disk: where it cannot, nothing is run. The audit is also what the ration knows of earlier
// lives. Afterwards it keeps how the run ended, and the first bytes of what was printed.
//
// At most once: a collector that ends between the opening and the run does not make up for it. Limits: kMaxWaiting,
// beyond which incidents are dropped; kMaxHosts. All outcomes are counted. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_HOOK_INCIDENT_HOOK_H_
#define LOCKSTEP_COLLECTOR_HOOK_INCIDENT_HOOK_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/access/audit_log.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/alert_sink.h"
#include "collector/hook/hook_ration.h"
#include "collector/incident_index.h"
#include "collector/store/history_store.h"

namespace lockstep {

class IncidentHook final : public AlertSink {
 public:
  static constexpr size_t kMaxWaiting = 100;      // incidents
  static constexpr size_t kMaxHosts = 16;         // of one run
  static constexpr size_t kMaxOutputBytes = 768;  // that the audit keeps

  // All are borrowed.
  struct Parts {
    AlertSink& next;
    AuditLog& audit;
    HistoryStore& history;
    const IncidentIndex& incidents;
    const Clock& clock;  // the system's
    std::function<size_t()> known_hosts;
    prometheus::Registry& registry;
  };

  // Runs nothing before SetRoutes.
  explicit IncidentHook(const Parts& parts);
  ~IncidentHook() override;

  // From now on the hook of these counts.
  void SetRoutes(const AlertRoutes& routes);

  // AlertSink
  void Announce(const IncidentEvent& event) override;

  // Kills what runs, drops what waits, and ends the thread. Idempotent.
  void Close();

 private:
  struct Turn {
    uint64_t incident = 0;
    HookSpec spec;
    AlertLinks links;
  };

  void Run();
  // Empty when it is closed.
  std::optional<Turn> WaitForTurn();
  void Take(const Turn& turn);
  bool Restore();
  void RunProgram(const Turn& turn, const wire::Incident& incident, const std::vector<std::string>& hosts);
  void Count(absl::string_view outcome);

  const Parts parts_;
  prometheus::Family<prometheus::Counter>& outcomes_;
  prometheus::Gauge& enabled_;
  prometheus::Gauge& hosts_acted_on_;
  std::atomic<bool> stop_{false};

  // Of the thread.
  HookRation ration_;
  HookRation dry_ration_;  // of what would have been run
  bool restored_ = false;
  int64_t next_ns_ = 0;  // monotonic; when the next may have its turn

  Mutex mutex_;
  CondVar changed_;
  HookSpec spec_ ABSL_GUARDED_BY(mutex_);
  AlertLinks links_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);  // incidents; at most kMaxWaiting

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HOOK_INCIDENT_HOOK_H_
