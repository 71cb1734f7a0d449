#include "collector/incident/incident_state.h"

namespace lockstep {
namespace {

struct QuietState {
  absl::string_view word;
  bool (*holds)(const wire::Incident&);
};

// The first that holds names the state.
constexpr QuietState kQuietStates[] = {
    {"suspected", [](const wire::Incident& incident) { return incident.suspected(); }},
    {"silenced", [](const wire::Incident& incident) { return incident.has_silence(); }},
    {"maintenance", [](const wire::Incident& incident) { return incident.maintenance() != 0; }},
    {"folded", [](const wire::Incident& incident) { return incident.folded_under() != 0; }},
};

// nullptr = somebody is called.
const QuietState* QuietStateOf(const wire::Incident& incident) {
  for (const QuietState& state : kQuietStates) {
    if (state.holds(incident)) return &state;
  }
  return nullptr;
}

}  // namespace

bool IsOpen(const wire::Incident& incident) { return incident.state() == wire::Incident::STATE_OPEN; }

bool IsQuiet(const wire::Incident& incident) { return QuietStateOf(incident) != nullptr; }

absl::string_view StateWord(const wire::Incident& incident) {
  if (!IsOpen(incident)) return "resolved";
  const QuietState* quiet = QuietStateOf(incident);
  return quiet == nullptr ? "open" : quiet->word;
}

void AddTransition(wire::Incident& incident, const char* what, int64_t wall_ns, const std::string& why) {
  auto& transitions = *incident.mutable_transitions();
  if (transitions.size() >= kMaxTransitions) {
    transitions.DeleteSubrange(0, transitions.size() - kMaxTransitions + 1);
  }
  wire::Incident::Transition& added = *transitions.Add();
  added.set_what(what);
  added.set_wall_ns(wall_ns);
  added.set_why(why);
}

}  // namespace lockstep
