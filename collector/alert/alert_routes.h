// Who is told of which incidents.
//
// Routes are asked in order; the first that fits says who is told, and those behind it are asked only if it says
// `continue`. A receiver may have no route only if it is told of everything. Plain values; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_ROUTES_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_ROUTES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collector/access/wildcard.h"
#include "collector/alert/alert_links.h"
#include "collector/alert/receiver_spec.h"
#include "proto/incident.pb.h"

namespace lockstep {

using Tenants = std::map<std::string, std::vector<Wildcard>>;  // jobs by name of the tenant

// Fits an incident if each list that is not empty holds something that it has.
struct AlertRoute {
  std::vector<std::string> severities;
  std::vector<std::string> scopes;
  std::vector<std::string> classes;
  std::vector<Wildcard> jobs;
  std::vector<Wildcard> tenant_jobs;  // jobs of the tenants that are named
  std::vector<Wildcard> hosts;        // of any culprit
  std::vector<std::string> receivers;
  bool goes_on = false;  // routes behind it are asked as well
  int line = 0;          // of the file, from 1
};

// A program of the operator that is run when an incident opens (collector/hook).
struct HookSpec {
  std::string command;                   // absolute path; "" = there is none
  bool run = false;                      // false: says what it would run, and runs nothing
  std::vector<AlertRoute> matches;       // an incident has to fit one of them; receivers mean nothing
  std::vector<std::string> environment;  // "NAME=value", besides PATH and LANG
  int64_t timeout_ns = 30'000'000'000;
  int64_t every_ns = 60'000'000'000;  // between the begins of two runs, at least
  int max_per_hour = 4;
  double max_share = 0.05;  // of the hosts that are known, that may be acted on within a day; rounded down
};

struct AlertRoutes {
  std::string file;  // that says so; "" = none does
  std::string text;  // of the file
  AlertLinks links;
  std::vector<ReceiverSpec> receivers;  // unlike names
  std::vector<AlertRoute> routes;
  std::set<std::string> told_of_all;  // receivers without routes
  HookSpec hook;
};

bool Fits(const AlertRoute& route, const wire::Incident& incident);

// Indices of the routes that say who is told of it, in order.
std::vector<size_t> RoutesFor(const AlertRoutes& routes, const wire::Incident& incident);

// Names of those who are told of it.
std::set<std::string> ReceiversFor(const AlertRoutes& routes, const wire::Incident& incident);

// Which of the hook's matches it fits first; null = none, or there is no hook.
const AlertRoute* HookMatchFor(const HookSpec& hook, const wire::Incident& incident);

// A receiver with several URLs is told at each of them, of which history knows separately.
std::string CourierName(const ReceiverSpec& receiver, const std::string& url);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_ROUTES_H_
