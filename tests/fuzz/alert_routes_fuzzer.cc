// The file of receivers and routes: read, or refused with a line and without a secret; and whatever is read can be
// asked who is told of an incident.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/access/wildcard.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/alert_routes_yaml.h"
#include "proto/incident.pb.h"

namespace {

constexpr char kSecret[] = "x-what-nobody-may-see-x";

lockstep::wire::Incident SomeIncident() {
  lockstep::wire::Incident incident;
  incident.set_id(7);
  incident.set_job("vision-1");
  incident.mutable_verdict()->set_scope("machine");
  incident.mutable_verdict()->add_culprits()->set_host("node-1");
  return incident;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const lockstep::Tenants tenants = {{"vision", {*lockstep::Wildcard::Parse("vision-*", "*")}}};
  const auto routes = lockstep::ParseAlertRoutes(
      input, tenants, [](const std::string& /*path*/) -> absl::StatusOr<std::string> { return kSecret; });
  if (!routes.ok()) {
    CHECK(absl::StrContains(routes.status().message(), "line ") || size > lockstep::kMaxAlertRoutesBytes);
    CHECK(!absl::StrContains(routes.status().message(), kSecret) || absl::StrContains(input, kSecret));
    return 0;
  }
  std::set<std::string> names;
  for (const lockstep::ReceiverSpec& receiver : routes->receivers) CHECK(names.insert(receiver.name).second);
  CHECK(names.size() <= lockstep::kMaxReceivers && routes->routes.size() <= lockstep::kMaxRoutes);
  for (const lockstep::AlertRoute& route : routes->routes) {
    CHECK(route.line > 0);
    for (const std::string& receiver : route.receivers) CHECK(names.contains(receiver));
  }
  const lockstep::wire::Incident incident = SomeIncident();
  for (const size_t route : lockstep::RoutesFor(*routes, incident)) CHECK(route < routes->routes.size());
  for (const std::string& receiver : lockstep::ReceiversFor(*routes, incident)) CHECK(names.contains(receiver));
  const lockstep::HookSpec& hook = routes->hook;
  CHECK(lockstep::HookMatchFor(hook, incident) == nullptr || !hook.command.empty());
  CHECK(hook.max_share >= 0 && hook.max_share <= 1 && hook.max_per_hour > 0 && hook.timeout_ns > 0);
  return 0;
}
