#include "collector/incident/event_kinds.h"

#include <cstddef>

#include "collector/incident/incident_state.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using Told = EventKind::Told;

constexpr EventKind kKinds[] = {
    {Kind::kOpened, wire::IncidentEvent::KIND_OPENED, Told::kUnlessQuiet},
    {Kind::kUpdated, wire::IncidentEvent::KIND_UPDATED, Told::kUnlessQuiet},
    {Kind::kResolved, wire::IncidentEvent::KIND_RESOLVED, Told::kIfTheyKnow},
    {Kind::kReopened, wire::IncidentEvent::KIND_REOPENED, Told::kUnlessQuiet},
    {Kind::kAcknowledged, wire::IncidentEvent::KIND_UNSPECIFIED, Told::kNever},
    {Kind::kNoted, wire::IncidentEvent::KIND_UNSPECIFIED, Told::kNever},
};

}  // namespace

absl::Span<const EventKind> EventKinds() { return kKinds; }

bool IncidentEvent::is_for_receivers() const {
  const Told told = kKinds[static_cast<size_t>(kind)].told;
  // The end of what they were told of is told, also in a silence: else it would stay open with them for ever.
  if (told == Told::kIfTheyKnow) return !incident.withheld();
  return told == Told::kUnlessQuiet && !IsQuiet(incident);
}

}  // namespace lockstep
