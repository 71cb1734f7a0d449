#include "collector/incident/event_proto.h"

#include <cstddef>

#include "collector/incident/event_kinds.h"

namespace lockstep {

wire::IncidentEvent ToProto(const IncidentEvent& event) {
  wire::IncidentEvent message;
  message.set_kind(EventKinds()[static_cast<size_t>(event.kind)].written);
  *message.mutable_incident() = event.incident;
  return message;
}

std::optional<IncidentEvent> FromProto(const wire::IncidentEvent& message) {
  for (const EventKind& row : EventKinds()) {
    const bool is_told = row.written != wire::IncidentEvent::KIND_UNSPECIFIED;
    if (is_told && row.written == message.kind()) return IncidentEvent{row.kind, message.incident()};
  }
  return std::nullopt;
}

}  // namespace lockstep
