#include "collector/alert/log_sink.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;

struct Row {
  Kind kind;
  LogLevel level;
  const char* message;
};

// New numbers about a known incident are of interest only to who debugs.
constexpr Row kRows[] = {
    {Kind::kOpened, LogLevel::kWarning, "incident opened"},
    {Kind::kUpdated, LogLevel::kDebug, "incident updated"},
    {Kind::kResolved, LogLevel::kInfo, "incident resolved"},
    {Kind::kReopened, LogLevel::kWarning, "incident reopened"},
    {Kind::kAcknowledged, LogLevel::kInfo, "incident acknowledged"},
    {Kind::kNoted, LogLevel::kInfo, "something was said of an incident"},
};

}  // namespace

void LogSink::Announce(const IncidentEvent& event) {
  for (const Row& row : kRows) {
    if (row.kind != event.kind) continue;
    Log(row.level, row.message,
        {{"incident", absl::StrCat(event.incident.id())},
         {"severity", SeverityOf(event.incident.verdict().class_())},
         {"summary", SummaryOf(event.incident)}});
  }
}

}  // namespace lockstep
