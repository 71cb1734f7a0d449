#include "collector/alert/nvsentinel_payload.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "collector/alert/change_role.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using datamodels::HealthEvent;
using datamodels::HealthEvents;

constexpr uint32_t kVersion = 1;
constexpr char kAgent[] = "lockstep";
// Ours: what a node's condition, or a reader of the store, can bear. Of accusations NVSentinel takes some thousands.
constexpr size_t kMaxMessageBytes = 1'024;
constexpr size_t kMaxAccused = 1'000;

constexpr char kGpu[] = "GPU";
constexpr char kNic[] = "NIC";
constexpr char kNode[] = "Node";

// Which part of a machine a class of verdicts is about; of all others it is the machine.
struct Part {
  absl::string_view verdict_class;
  const char* component;
};
constexpr Part kParts[] = {
    {"gpu_fault", kGpu},    {"nvlink_slow", kGpu},  {"pcie_degraded", kGpu}, {"clock_throttled", kGpu},
    {"compute_slow", kGpu}, {"comm_slow_tx", kNic}, {"comm_slow_rx", kNic},  {"link_slow", kNic},
};

absl::string_view ComponentOf(absl::string_view verdict_class) {
  for (const Part& part : kParts) {
    if (part.verdict_class == verdict_class) return part.component;
  }
  return kNode;
}

// Others blame the program, a switch or nobody: no machine.
bool AccusesMachines(const wire::Verdict& verdict) {
  return verdict.scope() == "machine" || verdict.scope() == "network";
}

// "LockstepGpuFault"
std::string CheckName(absl::string_view verdict_class) {
  std::string name = "Lockstep";
  for (const absl::string_view word : absl::StrSplit(verdict_class, '_', absl::SkipEmpty())) {
    name += absl::ascii_toupper(static_cast<unsigned char>(word[0]));
    absl::StrAppend(&name, word.substr(1));
  }
  return name;
}

void AddEntity(HealthEvent& event, const char* type, const std::string& value) {
  if (value.empty()) return;
  datamodels::Entity& entity = *event.add_entities_impacted();
  entity.set_entity_type(type);
  entity.set_entity_value(value);
}

// What is accused, as the other monitors of a node name it; and the incident, which tells two accusations of the same
// part apart: the end of one must not end the other.
void AddEntities(HealthEvent& event, const wire::Incident& incident, const wire::Culprit& culprit,
                 const AlertLinks& links) {
  if (event.component_class() == kGpu) {
    AddEntity(event, kGpu, culprit.gpu() >= 0 ? absl::StrCat(culprit.gpu()) : "");
    AddEntity(event, "GPU_UUID", culprit.gpu_uuid());
    AddEntity(event, "PCI", culprit.gpu_pci_address());
  }
  if (event.component_class() == kNic) {
    const std::pair<std::string, std::string> port = absl::StrSplit(culprit.device(), absl::MaxSplits('/', 1));
    AddEntity(event, kNic, port.first);
    AddEntity(event, "NICPort", port.second);
  }
  AddEntity(event, "LOCKSTEP_INCIDENT", StableName(links, incident));
}

void AddMetadata(HealthEvent& event, const wire::Incident& incident, const wire::Culprit& culprit,
                 const AlertLinks& links) {
  const wire::Verdict& verdict = incident.verdict();
  const std::pair<const char*, std::string> rows[] = {
      {"job", incident.job()},
      {"severity", SeverityOf(verdict.class_())},
      {"scope", verdict.scope()},
      {"advice", verdict.advice()},
      {"cost", CostText(verdict.cost())},
      {"confidence", absl::StrFormat("%.2f", culprit.confidence())},
      {"rank", culprit.rank() >= 0 ? absl::StrCat(culprit.rank()) : ""},
      {"peer_host", culprit.peer_host()},
      {"resolution", ResolutionText(incident)},
      {"runbook_url", RunbookPage(links, verdict.class_())},
      {"url", ConsolePage(links, incident)},
  };
  for (const auto& [name, value] : rows) {
    if (!value.empty()) (*event.mutable_metadata())[absl::StrCat("lockstep_", name)] = CutText(value, kMaxMessageBytes);
  }
}

// Of the newest change.
void SetTime(HealthEvent& event, const wire::Incident& incident) {
  event.mutable_generated_timestamp()->set_seconds(incident.updated_wall_ns() / kNanosPerSecond);
  event.mutable_generated_timestamp()->set_nanos(static_cast<int32_t>(incident.updated_wall_ns() % kNanosPerSecond));
}

// Not fatal, no action: as in the header.
HealthEvent EventFor(const wire::Incident& incident, const wire::Culprit& culprit, const AlertLinks& links) {
  const wire::Verdict& verdict = incident.verdict();
  HealthEvent event;
  event.set_version(kVersion);
  event.set_agent(kAgent);
  event.set_component_class(std::string(ComponentOf(verdict.class_())));
  event.set_check_name(CheckName(verdict.class_()));
  event.set_message(CutText(absl::StrCat(SummaryOf(incident), "\n", EvidenceText(verdict)), kMaxMessageBytes));
  event.add_error_code(verdict.class_());
  event.set_node_name(culprit.host());
  event.set_processing_strategy(datamodels::STORE_ONLY);
  SetTime(event, incident);
  AddEntities(event, incident, culprit, links);
  AddMetadata(event, incident, culprit, links);
  return event;
}

// By what NVSentinel tells one fault from another.
std::map<std::string, HealthEvent> Accusations(const wire::Incident& incident, const AlertLinks& links) {
  std::map<std::string, HealthEvent> accusations;
  if (!AccusesMachines(incident.verdict())) return accusations;
  for (const wire::Culprit& culprit : incident.verdict().culprits()) {
    if (culprit.host().empty() || accusations.size() >= kMaxAccused) continue;
    HealthEvent event = EventFor(incident, culprit, links);
    std::string key = absl::StrCat(event.node_name(), "\n", event.check_name());
    for (const datamodels::Entity& entity : event.entities_impacted()) {
      absl::StrAppend(&key, "\n", entity.entity_type(), " ", entity.entity_value());
    }
    accusations.emplace(std::move(key), std::move(event));
  }
  return accusations;
}

bool SaysThatItIsGone(const wire::Incident& incident) {
  return incident.resolution() == wire::Incident::RESOLUTION_CAUSE_GONE ||
         incident.resolution() == wire::Incident::RESOLUTION_BY_HAND;
}

}  // namespace

HealthEvents HealthEventsFor(const IncidentEvent& event, const DeliveryContext& context) {
  const bool is_healthy = ChangeRoleOf(event.kind) == ChangeRole::kEnds && SaysThatItIsGone(event.incident);
  std::map<std::string, HealthEvent> now = Accusations(event.incident, context.links);
  HealthEvents events;
  events.set_version(kVersion);
  if (context.before != nullptr) {
    for (auto& [key, accusation] : Accusations(*context.before, context.links)) {
      if (now.contains(key)) continue;
      accusation.set_is_healthy(true);
      SetTime(accusation, event.incident);
      *events.add_events() = accusation;
    }
  }
  for (auto& [key, accusation] : now) {
    accusation.set_is_healthy(is_healthy);
    *events.add_events() = std::move(accusation);
  }
  return events;
}

}  // namespace lockstep
