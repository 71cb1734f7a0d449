#include "collector/hook/hook_input.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // of the object: keys may be added, none changes its meaning

}  // namespace

std::vector<std::string> HostsToActOn(const wire::Incident& incident) {
  std::vector<std::string> hosts;
  for (const wire::Culprit& culprit : incident.verdict().culprits()) {
    for (const std::string& host : {culprit.host(), culprit.peer_host()}) {
      if (!host.empty() && std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
    }
  }
  return hosts;
}

std::string HookInput(const wire::Incident& incident, const AlertLinks& links) {
  const wire::Verdict& verdict = incident.verdict();
  Json culprits = Json::array();
  for (const wire::Culprit& culprit : verdict.culprits()) {
    culprits.push_back(Json{{"host", culprit.host()},
                            {"rank", culprit.rank()},
                            {"gpu", culprit.gpu()},
                            {"gpu_uuid", culprit.gpu_uuid()},
                            {"gpu_pci_address", culprit.gpu_pci_address()},
                            {"device", culprit.device()},
                            {"peer_host", culprit.peer_host()},
                            {"confidence", culprit.confidence()}});
  }
  Json evidence = Json::array();
  for (const wire::Evidence& piece : verdict.evidence()) evidence.push_back(piece.text());
  const Json input = {
      {"version", kVersion},
      {"fleet", links.fleet},
      {"incident", incident.id()},
      {"job", incident.job()},
      {"class", verdict.class_()},
      {"scope", verdict.scope()},
      {"severity", SeverityOf(verdict.class_())},
      {"advice", verdict.advice()},
      {"hosts", HostsToActOn(incident)},
      {"culprits", std::move(culprits)},
      {"summary", SummaryOf(incident)},
      {"evidence", std::move(evidence)},
      {"slowdown_fraction", verdict.cost().slowdown_fraction()},
      {"seconds_per_step", verdict.cost().seconds_per_step()},
      {"opened_at", FormatWallTime(incident.opened_wall_ns())},
      {"reopened", incident.reopened()},
      {"flapping", incident.flapping()},
      {"folded_incidents", incident.folds()},
      {"url", ConsolePage(links, incident)},
  };
  return absl::StrCat(input.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace lockstep
