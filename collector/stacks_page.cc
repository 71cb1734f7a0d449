#include "collector/stacks_page.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "daemon/flame_graph.h"
#include "daemon/loopback.h"
#include "proto/folded_stacks.h"
#include "proto/incident.pb.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

constexpr char kFolder[] = "/incidents/";
constexpr char kFile[] = "/stacks.svg";

HttpResponse Plain(int status, absl::string_view text) { return {.status = status, .body = absl::StrCat(text, "\n")}; }

// 0 = the path is not of the form.
uint64_t IncidentIn(absl::string_view path) {
  uint64_t id = 0;
  const bool fits = absl::ConsumePrefix(&path, kFolder) && absl::ConsumeSuffix(&path, kFile);
  return fits && absl::SimpleAtoi(path, &id) ? id : 0;
}

HttpResponse Draw(const wire::Incident& incident, const std::vector<wire::StackDump>& dumps) {
  std::vector<FlameStack> stacks;
  for (const wire::StackDump& dump : dumps) {
    for (const FoldedLine& line : FoldStacks(dump)) stacks.push_back({line.frames, line.count});
  }
  HttpResponse response;
  response.content_type = "image/svg+xml; charset=utf-8";
  response.body = FlameGraphSvg(stacks, absl::StrCat("incident ", incident.id(), ", job ", incident.job()));
  // The graph has no script; a browser is not to run one in it whatever happens.
  response.headers = {{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"}};
  return response;
}

}  // namespace

HttpRoute StacksPage(absl::string_view address, const IncidentIndex& incidents, HistoryStore& history) {
  HttpRoute route;
  route.path = kFolder;
  route.is_private = !IsLoopbackAddress(address);
  route.handler = [&incidents, &history](const HttpRequest& request) {
    const uint64_t id = IncidentIn(request.path);
    if (id == 0) return Plain(404, "no such page; there is /incidents/ID/stacks.svg");
    const std::optional<wire::Incident> incident = incidents.Find(id);
    if (!incident.has_value()) return Plain(404, absl::StrCat("no incident ", id));
    const absl::StatusOr<std::vector<wire::StackDump>> dumps = history.LoadStacks(id);
    if (!dumps.ok()) return Plain(503, absl::StrCat("history cannot be read: ", dumps.status().message()));
    if (dumps->empty()) return Plain(404, "no stacks were taken of this incident, or they are not kept any more");
    return Draw(*incident, *dumps);
  };
  return route;
}

}  // namespace lockstep
