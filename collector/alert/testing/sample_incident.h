// An incident as tests of what receivers are told need it. Pure.

#ifndef LOCKSTEP_COLLECTOR_ALERT_TESTING_SAMPLE_INCIDENT_H_
#define LOCKSTEP_COLLECTOR_ALERT_TESTING_SAMPLE_INCIDENT_H_

#include <cstdint>

#include "proto/incident.pb.h"

namespace lockstep {

// 2026-01-02T03:04:05.678Z
inline constexpr int64_t kSampleOpenedNanos = 1'767'323'045'678'000'000;

// Incident 42 of job llama: rank 3 on node-17 computes slowly. Open.
inline wire::Incident SlowRank() {
  wire::Incident incident;
  incident.set_id(42);
  incident.set_job("llama");
  incident.set_key("slow/node-17/3");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(kSampleOpenedNanos);
  wire::Verdict& verdict = *incident.mutable_verdict();
  verdict.set_scope("machine");
  verdict.set_class_("compute_slow");
  wire::Culprit& culprit = *verdict.add_culprits();
  culprit.set_host("node-17");
  culprit.set_rank(3);
  culprit.set_gpu(-1);
  culprit.set_pid(77);
  verdict.mutable_cost()->set_slowdown_fraction(0.18);
  verdict.mutable_cost()->set_seconds_per_step(0.25);
  verdict.mutable_cost()->set_steps_affected_fraction(0.95);
  verdict.add_evidence()->set_text("Rank 3 arrives last in 38 of 40 steps.");
  verdict.add_evidence()->set_text("Its own time is 1.50 times that of its peers.");
  verdict.set_advice("cordon_and_replace");
  return incident;
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_TESTING_SAMPLE_INCIDENT_H_
