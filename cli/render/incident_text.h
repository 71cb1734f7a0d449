// An incident in words: cells for tables, one line for a feed, and the full explanation that somebody reads at 3 am.
// Pure.

#ifndef LOCKSTEP_CLI_RENDER_INCIDENT_TEXT_H_
#define LOCKSTEP_CLI_RENDER_INCIDENT_TEXT_H_

#include <cstdint>
#include <string>

#include "proto/incident.pb.h"

namespace lockstep {

// "suspected", "silenced", "in maintenance", "folded", "acknowledged", "flapping" or "open" of one that is open; else
// "resolved", and of one whose cause nobody has seen go, what became of its job: "job died".
std::string StateText(const wire::Incident& incident);

// "node-17 rank 3 pid 4711 gpu 1 mlx5_0": as precise as the evidence and no more; "nobody" without a culprit.
std::string CulpritText(const wire::Culprit& culprit);

// The first culprit, and how many more there are.
std::string CulpritsText(const wire::Verdict& verdict);

// Whether the job makes no progress, so that a cost per step means nothing: of hangs. A GPU may have a fault that its
// job survives; then the fault has a measured cost, or accuses nobody.
bool JobStandsStill(const wire::Verdict& verdict);

// Share of the step time that the fault costs, as "35 %"; "stopped" for a job that stands still; "-" when unknown.
std::string CostText(const wire::Verdict& verdict);

// The first piece of evidence, or what the class means.
std::string SummaryText(const wire::Verdict& verdict);

// What a class of the detector means, as a clause: "computes longer per step than its peers". The class itself if this
// program does not know it.
std::string ClassMeaning(const std::string& verdict_class);

// What to do, as a sentence.
std::string AdviceText(const std::string& advice);

// "03:04:05.678  opened    #7 compute_slow  node-17 rank 3 pid 4711  job demo  8.2s after onset  cost 35 %: <evidence>"
std::string TransitionLine(const wire::Incident& incident, const wire::Incident::Transition& transition);

// The causal chain in numbered sentences, then cost, advice and timeline. Ends with a newline.
std::string Explanation(const wire::Incident& incident, int64_t now_wall_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_INCIDENT_TEXT_H_
