#include "collector/alert_sinks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "collector/alert/change_role.h"
#include "collector/alert/incident_text.h"
#include "collector/alert/told_incidents.h"

namespace lockstep {
namespace {

// As metrics name the receivers of webhook_url, whose URLs may be secret.
constexpr char kPlainWebhooks[] = "webhook_url";

// Nothing waits for so long because something was told.
constexpr int64_t kLongAgoNanos = 3'600 * kNanosPerSecond;

std::string MetricName(const AlertRoutes& routes, const ReceiverSpec& receiver) {
  return routes.told_of_all.contains(receiver.name) ? kPlainWebhooks : receiver.name;
}

}  // namespace

AlertSinks::AlertSinks(const AlertRoutes& routes, const Clock& clock, Random random, AlertMemory memory,
                       const AlertCourierOptions& pace)
    : clock_(clock), memory_(std::move(memory)), pace_(pace), random_(random) {
  SetRoutes(routes);
}

AlertSinks::~AlertSinks() {
  for (const auto& [name, courier] : couriers()) courier.thread->BeginStop();
}

// A courier keeps running if nothing about its receiver has changed. Of one that has, the next takes over what waits.
void AlertSinks::SetRoutes(const AlertRoutes& routes) {
  MutexLock telling(telling_);
  std::map<std::string, std::pair<ReceiverSpec, std::string>> wanted;  // receiver and URL, by name of the courier
  for (const ReceiverSpec& receiver : routes.receivers) {
    for (const std::string& url : receiver.urls) wanted[CourierName(receiver, url)] = {receiver, url};
  }
  Couriers gone;
  std::map<std::string, std::string> metric_names;
  {
    MutexLock lock(mutex_);
    for (auto it = couriers_.begin(); it != couriers_.end();) {
      const auto found = wanted.find(it->first);
      const bool stays =
          found != wanted.end() && found->second.first == it->second.receiver && routes.links == it->second.links;
      metric_names[it->first] = MetricName(routes_, it->second.receiver);
      const auto next = std::next(it);
      if (!stays) gone.insert(couriers_.extract(it));
      it = next;
    }
  }
  std::map<std::string, std::vector<AlertBacklog::Waiting>> left;
  for (const auto& [name, courier] : gone) courier.thread->BeginStop();
  for (const auto& [name, courier] : gone) left[name] = courier.thread->Stop();
  MutexLock lock(mutex_);
  for (const auto& [name, courier] : gone) {
    AlertCourierStats stats = courier.thread->stats();
    stats.waiting = 0;
    stats.longest_wait_ns = 0;
    of_gone_[metric_names[name]].Add(stats);
  }
  routes_ = routes;
  for (const auto& [name, target] : wanted) {
    if (couriers_.contains(name)) continue;
    const Courier& courier = couriers_[name] = MakeCourier(target.first, target.second, routes.links);
    const auto before = gone.find(name);
    if (before == gone.end()) {
      TellOfOpenLocked(*courier.thread, name);
    } else {
      courier.thread->Inherit(
          {.open = OpenForLocked(name), .last = LastOf(before->second, courier), .waiting = std::move(left[name])});
    }
  }
}

// Threads stay where they are in the same channel; when something was told counts at the same place.
std::vector<ToldIncidents::Last> AlertSinks::LastOf(const Courier& before, const Courier& next) const {
  if (before.receiver.channel != next.receiver.channel) return {};
  const bool same_place = before.receiver.urls == next.receiver.urls;
  std::vector<ToldIncidents::Last> all = before.thread->AllLast();
  for (ToldIncidents::Last& last : all) {
    if (!same_place) last.at_ns = clock_.MonotonicNanos() - kLongAgoNanos;
  }
  return all;
}

AlertSinks::Courier AlertSinks::MakeCourier(const ReceiverSpec& receiver, const std::string& url,
                                            const AlertLinks& links) {
  const std::string name = CourierName(receiver, url);
  AlertCourierOptions options = pace_;
  options.receiver = receiver;
  options.url = url;
  options.name = name;
  options.links = links;
  return {receiver, links,
          std::make_shared<AlertCourier>(
              options, clock_, Random(random_.Next()),
              [this, name](const std::vector<uint64_t>& numbers) { memory_.forget(name, numbers); },
              [this, name, channel = receiver.channel](uint64_t incident, const std::string& thread, int64_t wall_ns) {
                memory_.keep_told({incident, name, channel, thread, wall_ns});
              })};
}

std::vector<wire::Incident> AlertSinks::OpenForLocked(const std::string& name) const {
  std::vector<wire::Incident> open;
  for (const auto& [id, one] : open_) {
    if (CourierNamesLocked(one.incident).contains(name)) open.push_back(one.incident);
  }
  return open;
}

void AlertSinks::TellOfOpenLocked(AlertCourier& courier, const std::string& name) {
  for (const wire::Incident& incident : OpenForLocked(name)) {
    if (!open_[incident.id()].receivers.insert(name).second) continue;
    courier.Announce({IncidentEvent::Kind::kUpdated, incident}, {});
  }
}

std::set<std::string> AlertSinks::CourierNamesLocked(const wire::Incident& incident) const {
  const std::set<std::string> receivers = ReceiversFor(routes_, incident);
  std::set<std::string> names;
  for (const auto& [name, courier] : couriers_) {
    if (receivers.contains(courier.receiver.name)) names.insert(name);
  }
  const auto open = open_.find(incident.id());
  if (open == open_.end()) return names;
  for (const std::string& name : open->second.receivers) {
    if (couriers_.contains(name)) names.insert(name);
  }
  return names;
}

void AlertSinks::RememberLocked(const IncidentEvent& event, const std::set<std::string>& receivers) {
  const uint64_t id = event.incident.id();
  if (ChangeRoleOf(event.kind) == ChangeRole::kEnds) {
    open_.erase(id);
    return;
  }
  Open& open = open_[id];
  open.incident = event.incident;
  open.receivers.insert(receivers.begin(), receivers.end());
  if (open_.size() > kMaxOpen) open_.erase(open_.begin());
}

AlertSinks::Couriers AlertSinks::couriers() const {
  MutexLock lock(mutex_);
  return couriers_;
}

std::vector<std::string> AlertSinks::NamesFor(const IncidentEvent& event) const {
  MutexLock lock(mutex_);
  const std::set<std::string> names = CourierNamesLocked(event.incident);
  return {names.begin(), names.end()};
}

void AlertSinks::Tell(const IncidentEvent& event, const ChangeId& id) {
  log_.Announce(event);
  if (ChangeRoleOf(event.kind) == ChangeRole::kUntold) return;
  MutexLock telling(telling_);
  std::set<std::string> names;
  {
    MutexLock lock(mutex_);
    names = CourierNamesLocked(event.incident);
    RememberLocked(event, names);
  }
  const Couriers now = couriers();
  for (const std::string& name : names) now.at(name).thread->Announce(event, id);
}

void AlertSinks::NoteUntold(const wire::Incident& incident) {
  MutexLock telling(telling_);
  for (const auto& [name, courier] : couriers()) courier.thread->NoteQuiet(incident);
}

std::vector<std::string> AlertSinks::NoteWritten(uint64_t ticket, uint64_t number) {
  MutexLock telling(telling_);
  std::vector<std::string> done;
  for (const auto& [name, courier] : couriers()) {
    if (!courier.thread->NoteWritten(ticket, number)) done.push_back(name);
  }
  return done;
}

std::vector<AlertInheritance::Left> AlertSinks::Inherit(const AlertInheritance& inheritance) {
  MutexLock telling(telling_);
  const Couriers now = couriers();
  std::map<std::string, AlertCourier::Inheritance> parts;  // by name of the courier
  {
    MutexLock lock(mutex_);
    for (const wire::Incident& incident : inheritance.incidents) {
      // What they were never told of, or were told the end of, they do not have.
      if (incident.state() == wire::Incident::STATE_RESOLVED || incident.withheld()) continue;
      const std::set<std::string> names = CourierNamesLocked(incident);
      RememberLocked({IncidentEvent::Kind::kUpdated, incident}, names);
      for (const std::string& name : names) parts[name].open.push_back(incident);
    }
  }
  for (const ToldAlert& told : inheritance.told) {
    const auto found = now.find(told.receiver);
    if (found == now.end() || found->second.receiver.channel != told.channel) continue;
    parts[told.receiver].last.push_back(LastOf(told));
  }
  std::vector<AlertInheritance::Left> strangers;
  for (const AlertInheritance::Left& left : inheritance.left) {
    if (now.contains(left.receiver)) {
      parts[left.receiver].left.emplace_back(left.event, left.number);
    } else {
      strangers.push_back(left);
    }
  }
  for (auto& [name, part] : parts) now.at(name).thread->Inherit(std::move(part));
  return strangers;
}

// A wall clock that was put back makes news wait as if they were told just now.
ToldIncidents::Last AlertSinks::LastOf(const ToldAlert& told) const {
  const int64_t ago_ns = std::clamp<int64_t>(clock_.WallNanos() - told.wall_ns, 0, kLongAgoNanos);
  return {told.incident, told.thread, clock_.MonotonicNanos() - ago_ns, /*is_open=*/told.wall_ns != 0};
}

void AlertSinks::ExportTo(CollectorMetrics& metrics) const {
  std::map<std::string, AlertCourierStats> by_receiver;
  std::set<OpenIncidentLabels> open_incidents;
  Couriers now;
  AlertRoutes routes;
  {
    MutexLock lock(mutex_);
    by_receiver = of_gone_;
    now = couriers_;
    routes = routes_;
    for (const auto& [id, open] : open_) {
      const wire::Verdict& verdict = open.incident.verdict();
      open_incidents.insert({id, open.incident.job(), HostOf(open.incident), verdict.class_(), verdict.scope(),
                             SeverityOf(verdict.class_())});
    }
  }
  for (const auto& [name, courier] : now)
    by_receiver[MetricName(routes, courier.receiver)].Add(courier.thread->stats());
  std::map<std::string, AlertTotals> totals;
  uint64_t waiting = 0;
  for (const auto& [receiver, stats] : by_receiver) {
    totals[receiver] = {stats.sent, stats.retried, stats.failed, stats.dropped,
                        static_cast<double>(stats.longest_wait_ns) / kNanosPerSecond};
    waiting += stats.waiting;
  }
  metrics.alerts.SetTotals(totals);
  metrics.alerts.SetOpen(open_incidents);
  metrics.alerts.waiting.Set(static_cast<double>(waiting));
}

}  // namespace lockstep
