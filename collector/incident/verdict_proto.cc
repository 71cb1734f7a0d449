#include "collector/incident/verdict_proto.h"

#include "detector/verdict/abstention.h"

namespace lockstep {
namespace {

void Fill(const Culprit& culprit, wire::Culprit& message) {
  message.set_host(culprit.host);
  message.set_rank(culprit.rank);
  message.set_gpu(culprit.gpu);
  message.set_pid(culprit.pid);
  message.set_device(culprit.device);
  message.set_peer_host(culprit.peer_host);
  message.set_confidence(culprit.confidence);
}

void Fill(const Cost& cost, wire::Cost& message) {
  message.set_slowdown_fraction(cost.slowdown_fraction);
  message.set_seconds_per_step(cost.seconds_per_step);
  message.set_steps_affected_fraction(cost.steps_affected_fraction);
  message.set_hidden_fraction(cost.hidden_fraction);
}

// An abstention has no class, costs nothing and advises nothing. This one is told: what it costs is what is not
// explained, since the rest stands with its findings.
void NameUnexplained(const SlowWithoutCause& slow, wire::Verdict& message) {
  message.set_class_(kSlowUnexplained);
  message.set_advice(Name(Advice::kObserve));
  Fill({.slowdown_fraction = slow.mean_seconds() > 0 ? slow.unexplained_seconds / slow.mean_seconds() : 0,
        .seconds_per_step = slow.unexplained_seconds,
        .steps_affected_fraction = slow.share},
       *message.mutable_cost());
}

}  // namespace

wire::Verdict ToProto(const Verdict& verdict) {
  wire::Verdict message;
  message.set_scope(Name(verdict.scope));
  message.set_class_(Name(verdict.verdict_class));
  for (const Culprit& culprit : verdict.culprits) Fill(culprit, *message.add_culprits());
  message.set_first_step(verdict.first_step);
  message.set_last_step(verdict.last_step);
  message.set_first_seen_ns(verdict.first_seen_ns);
  message.set_last_seen_ns(verdict.last_seen_ns);
  Fill(verdict.cost, *message.mutable_cost());
  for (const Evidence& evidence : verdict.evidence) {
    wire::Evidence& sentence = *message.add_evidence();
    sentence.set_kind(Name(evidence.kind));
    sentence.set_text(evidence.text());
  }
  message.set_advice(Name(verdict.advice));
  if (const auto* const slow = FindReason<SlowWithoutCause>(verdict)) NameUnexplained(*slow, message);
  return message;
}

}  // namespace lockstep
