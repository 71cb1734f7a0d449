#include "collector/incident/event_proto.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;

struct Row {
  Kind kind;
  wire::IncidentEvent::Kind written;
};

constexpr Row kRows[] = {
    {Kind::kOpened, wire::IncidentEvent::KIND_OPENED},
    {Kind::kUpdated, wire::IncidentEvent::KIND_UPDATED},
    {Kind::kResolved, wire::IncidentEvent::KIND_RESOLVED},
    {Kind::kReopened, wire::IncidentEvent::KIND_REOPENED},
};

}  // namespace

wire::IncidentEvent ToProto(const IncidentEvent& event) {
  wire::IncidentEvent message;
  for (const Row& row : kRows) {
    if (row.kind == event.kind) message.set_kind(row.written);
  }
  *message.mutable_incident() = event.incident;
  return message;
}

std::optional<IncidentEvent> FromProto(const wire::IncidentEvent& message) {
  for (const Row& row : kRows) {
    if (row.written == message.kind()) return IncidentEvent{row.kind, message.incident()};
  }
  return std::nullopt;
}

}  // namespace lockstep
