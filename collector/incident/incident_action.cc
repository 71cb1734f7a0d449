#include "collector/incident/incident_action.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/incident/incident_state.h"

namespace lockstep {
namespace {

using What = IncidentAction::What;

std::string ByWhom(const IncidentAction& action) {
  return absl::StrCat("by ", action.by, action.text.empty() ? "" : ": ", action.text);
}

std::string TimeText(int64_t wall_ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

absl::StatusOr<bool> Acknowledge(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  const wire::Incident::Acknowledgement& before = incident.acknowledgement();
  if (incident.has_acknowledgement() && before.by() == action.by && before.note() == action.text) return false;
  wire::Incident::Acknowledgement& kept = *incident.mutable_acknowledgement();
  kept.set_by(action.by);
  kept.set_note(action.text);
  kept.set_wall_ns(wall_ns);
  AddTransition(incident, "acknowledged", wall_ns, ByWhom(action));
  return true;
}

absl::StatusOr<bool> Unacknowledge(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  if (!incident.has_acknowledgement()) {
    return absl::FailedPreconditionError(absl::StrCat("nobody has acknowledged incident ", incident.id()));
  }
  AddTransition(incident, "unacknowledged", wall_ns,
                absl::StrCat("by ", action.by, ", it was in the hands of ", incident.acknowledgement().by()));
  incident.clear_acknowledgement();
  return true;
}

absl::StatusOr<bool> Silence(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  const wire::Incident::Silence& before = incident.silence();
  const bool is_so = incident.has_silence() && before.until_wall_ns() == action.until_wall_ns &&
                     before.by() == action.by && before.note() == action.text;
  if (is_so) return false;
  wire::Incident::Silence& kept = *incident.mutable_silence();
  kept.set_until_wall_ns(action.until_wall_ns);
  kept.set_by(action.by);
  kept.set_note(action.text);
  kept.set_wall_ns(wall_ns);
  AddTransition(incident, "silenced", wall_ns,
                absl::StrCat("until ", TimeText(action.until_wall_ns), " ", ByWhom(action)));
  return true;
}

absl::StatusOr<bool> Unsilence(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  if (!incident.has_silence()) {
    return absl::FailedPreconditionError(absl::StrCat("nobody has silenced incident ", incident.id()));
  }
  incident.clear_silence();
  AddTransition(incident, "unsilenced", wall_ns, absl::StrCat("by ", action.by));
  return true;
}

void Write(const IncidentAction& action, int64_t wall_ns, wire::Incident::Remark& remark) {
  remark.set_by(action.by);
  remark.set_wall_ns(wall_ns);
  remark.set_text(action.text);
}

absl::StatusOr<bool> Resolve(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  Write(action, wall_ns, *incident.mutable_resolved_by());
  return true;
}

absl::StatusOr<bool> Comment(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  const auto& comments = incident.comments();
  if (!comments.empty() && comments.rbegin()->by() == action.by && comments.rbegin()->text() == action.text) {
    return false;
  }
  if (comments.size() >= kMaxComments) {
    return absl::FailedPreconditionError(
        absl::StrCat("incident ", incident.id(), " holds ", kMaxComments, " comments, and no more"));
  }
  Write(action, wall_ns, *incident.add_comments());
  AddTransition(incident, "commented", wall_ns, ByWhom(action));
  return true;
}

struct Row {
  What what;
  const char* name;
  bool of_open_ones;
  absl::StatusOr<bool> (*apply)(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident);
};

constexpr Row kRows[] = {
    {What::kAcknowledge, "acknowledge", true, Acknowledge},
    {What::kUnacknowledge, "unacknowledge", true, Unacknowledge},
    {What::kSilence, "silence", true, Silence},
    {What::kUnsilence, "unsilence", true, Unsilence},
    {What::kResolve, "resolve", true, Resolve},
    {What::kComment, "comment", false, Comment},
};

const Row& RowOf(What what) { return kRows[static_cast<size_t>(what)]; }

}  // namespace

const char* NameOf(What what) { return RowOf(what).name; }

absl::StatusOr<bool> Apply(const IncidentAction& action, int64_t wall_ns, wire::Incident& incident) {
  const Row& row = RowOf(action.what);
  if (row.of_open_ones && !IsOpen(incident)) {
    // Who resolves what he has resolved is answered as before.
    const bool is_so = action.what == What::kResolve && incident.has_resolved_by() &&
                       incident.resolved_by().by() == action.by && incident.resolved_by().text() == action.text;
    if (is_so) return false;
    return absl::FailedPreconditionError(absl::StrCat("incident ", incident.id(), " is resolved"));
  }
  return row.apply(action, wall_ns, incident);
}

}  // namespace lockstep
