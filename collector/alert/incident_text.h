// The words about an incident that receivers of every kind are told. Pure; times are nanoseconds since the Unix epoch.

#ifndef LOCKSTEP_COLLECTOR_ALERT_INCIDENT_TEXT_H_
#define LOCKSTEP_COLLECTOR_ALERT_INCIDENT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/incident.pb.h"

namespace lockstep {

inline constexpr char kCritical[] = "critical";
inline constexpr char kWarning[] = "warning";

// kCritical for a class of hangs (IsHang): the job stands still or lost hardware. Else kWarning: the job goes on.
const char* SeverityOf(absl::string_view verdict_class);

// One sentence: what, who, which job.
std::string SummaryOf(const wire::Incident& incident);

// The host that is accused first; "" = none.
std::string HostOf(const wire::Incident& incident);

// The names of the GPU of the culprit that is accused first: "GPU-5f0c... at 0000:3b:00.0"; "" = none is known.
std::string GpuOf(const wire::Incident& incident);

// Sentences of the evidence, a line each.
std::string EvidenceText(const wire::Verdict& verdict);

// "" where it costs nothing.
std::string CostText(const wire::Cost& cost);

// Why a resolved incident is over; "" for one that is open, or says nothing.
std::string ResolutionText(const wire::Incident& incident);

// "It comes and goes (reopened 4 times). It stands for 7 more."; "" for one that does neither.
std::string RecurrenceText(const wire::Incident& incident);

// RFC 3339 in UTC, to the millisecond.
std::string FormatWallTime(int64_t wall_ns);

// At most `max_bytes`, ending in "..." where something was left out, never inside a character. REQUIRES: max_bytes > 3.
std::string CutText(absl::string_view text, size_t max_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_INCIDENT_TEXT_H_
