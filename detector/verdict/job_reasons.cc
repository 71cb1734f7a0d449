#include "detector/verdict/job_reasons.h"

#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

// Decimal, as rates of networks are.
constexpr double kBytesPerMegabyte = 1e6;

}  // namespace

std::string Sentence(const LongStage& reason) {
  return absl::StrFormat(
      "Pipeline stage %d works %.2f times as long on its own as the middle stage, in every one of its %d replicas: it "
      "has more to do; no machine is slow.",
      reason.stage, reason.times, reason.replicas);
}

std::string Sentence(const RotatingStalls& reason) {
  return absl::StrFormat(
      "In %d steps some rank stalled, each time another one (rotation entropy %.2f): stalls that go round (garbage "
      "collection, an accidental synchronisation) are the program's.",
      reason.steps, reason.rotation);
}

std::string Sentence(const VaryingBatches& reason) {
  return absl::StrFormat(
      "Own time of the %d replicas varies by %.1f %% from step to step%s, each time most on another one (rotation "
      "entropy %.2f): batches differ in length.",
      reason.replicas, 100 * reason.variation, reason.fellows_agree ? ", alike on the ranks that share the data" : "",
      reason.rotation);
}

std::string Sentence(const LongReplica& reason) {
  return absl::StrFormat(
      "All %d hosts of one data replica, in all of its stages, became slow in the same way at step %d, and work on the "
      "same batches: these are longer than the others'.",
      reason.hosts, reason.first_step);
}

std::string Sentence(const GivenMore& reason) {
  const std::string rank = Text(reason.rank);
  return absl::StrFormat(
      "%s works %.2f times as long as its peers and is given more to do: its %ss carry %.4g MB each, those of %d "
      "peers %.4g MB; no machine is slow.",
      reason.host_ranks > 0 ? absl::StrFormat("A host with %d ranks, among them %s,", reason.host_ranks, rank)
                            : Capitalized(rank),
      reason.times, Name(reason.kind), reason.bytes / kBytesPerMegabyte, reason.peers,
      reason.peer_bytes / kBytesPerMegabyte);
}

std::string Sentence(const HotExpert& reason) {
  return absl::StrFormat(
      "Between two AllToAlls the busiest rank of an expert group works %.0f %% longer than the mean of its group, "
      "layer "
      "by layer (%d %s), in other work %.0f %%: tokens are routed unevenly, and the group waits for its hot expert.",
      100 * reason.excess, reason.groups, reason.groups == 1 ? "group" : "groups", 100 * reason.elsewhere);
}

std::string Sentence(const LongerEverywhere& reason) {
  return absl::StrFormat(
      "From step %d on, own time is %.1f %% longer on %.0f %% of the ranks at once: the job changed, not a machine.",
      reason.first_step, 100 * reason.growth, 100 * reason.rank_share);
}

std::string Sentence(const SlowDrift& reason) {
  return absl::StrFormat(
      "Own time of all ranks together moves slowly by %.1f %% over the recording (temperature, time of day): no rank "
      "stands out.",
      100 * reason.range);
}

std::string Sentence(const CommonPause& reason) {
  if (reason.planned) {
    return absl::StrFormat(
        "All ranks pause together %d times for about %.1f s, first before step %d: checkpoints or evaluations that the "
        "program plans, for they are alike or come back regularly.",
        reason.more + 1, reason.seconds, reason.step);
  }
  return absl::StrFormat(
      "All ranks were idle together for %.1f s before step %d%s: a pause of the job (checkpoint, evaluation, "
      "compilation), nobody's fault.",
      reason.seconds, reason.step, reason.more > 0 ? absl::StrFormat(" and %d more times", reason.more) : "");
}

}  // namespace lockstep
