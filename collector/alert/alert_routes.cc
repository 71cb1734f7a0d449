#include "collector/alert/alert_routes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

bool Holds(const std::vector<std::string>& wanted, absl::string_view has) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), has) != wanted.end();
}

bool Matches(const std::vector<Wildcard>& wanted, absl::string_view has) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(), [has](const Wildcard& w) { return w.Match(has).has_value(); });
}

}  // namespace

bool Fits(const AlertRoute& route, const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  const bool host_fits =
      route.hosts.empty() || std::any_of(verdict.culprits().begin(), verdict.culprits().end(),
                                         [&](const wire::Culprit& c) { return Matches(route.hosts, c.host()); });
  return Holds(route.severities, SeverityOf(verdict.class_())) && Holds(route.scopes, verdict.scope()) &&
         Holds(route.classes, verdict.class_()) && Matches(route.jobs, incident.job()) &&
         Matches(route.tenant_jobs, incident.job()) && host_fits;
}

std::vector<size_t> RoutesFor(const AlertRoutes& routes, const wire::Incident& incident) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < routes.routes.size(); ++i) {
    if (!Fits(routes.routes[i], incident)) continue;
    fitting.push_back(i);
    if (!routes.routes[i].goes_on) break;
  }
  return fitting;
}

std::set<std::string> ReceiversFor(const AlertRoutes& routes, const wire::Incident& incident) {
  std::set<std::string> names = routes.told_of_all;
  for (const size_t i : RoutesFor(routes, incident)) {
    names.insert(routes.routes[i].receivers.begin(), routes.routes[i].receivers.end());
  }
  return names;
}

const AlertRoute* HookMatchFor(const HookSpec& hook, const wire::Incident& incident) {
  if (hook.command.empty()) return nullptr;
  const auto found = std::find_if(hook.matches.begin(), hook.matches.end(),
                                  [&incident](const AlertRoute& match) { return Fits(match, incident); });
  return found == hook.matches.end() ? nullptr : &*found;
}

std::string CourierName(const ReceiverSpec& receiver, const std::string& url) {
  return receiver.urls.size() == 1 ? receiver.name : absl::StrCat(receiver.name, " ", url);
}

}  // namespace lockstep
