#include "cli/render/incident_words_table.h"

namespace lockstep {
namespace {

constexpr Words kClasses[] = {
    {"compute_slow", "takes longer than its peers to compute each step, so that everyone waits for it"},
    {"host_slow", "is held up by its host (CPU, memory or scheduling), so that everyone waits for it"},
    {"comm_slow_tx", "sends slower than its peers"},
    {"comm_slow_rx", "receives slower than its peers"},
    {"link_slow", "has one slow network link"},
    {"group_slow", "belongs to a group of ranks that is slow as a whole"},
    {"nvlink_slow", "exchanges data slowly with the other GPUs of its machine"},
    {"hang_not_entered", "has not entered the collective operation in which all others wait for it"},
    {"hang_in_communication", "entered a collective operation that does not finish"},
    {"collective_mismatch", "calls another collective operation than its peers, so that neither can finish"},
    {"deadlock", "is part of a circle of ranks that wait for each other"},
    {"process_dead", "has died, so that the others wait for it or ended with it"},
    {"machine_unreachable", "sends no reports any more"},
    {"gpu_fault", "has a GPU whose driver reports a fault"},
    {"pcie_degraded", "has a PCIe link below its rated width or speed"},
    {"clock_throttled", "has a GPU that throttles its clock"},
    {"storage_stall", "waits for storage"},
    {"sequence_imbalance", "gets longer input sequences than its peers; no machine is to blame"},
    {"stage_imbalance", "runs a heavier pipeline stage than its peers; no machine is to blame"},
    {"expert_imbalance", "gets more tokens for its experts than its peers; no machine is to blame"},
    {"job_regression", "is slower than it was, on all ranks alike"},
    {"slow_unexplained", "is slower than it was, and none of the causes that were looked for explains it"},
    {"pause", "pauses as a whole (checkpoint, evaluation, compilation)"},
    {"drift", "gets slower little by little"},
    {"counter_outlier", "has a counter far away from those of its peers"},
};

// Of incidents that are resolved, by the name on the wire. What is not in the list is of another release.
constexpr Words kResolutions[] = {
    {"RESOLUTION_UNSPECIFIED", "resolved"}, {"RESOLUTION_CAUSE_GONE", "resolved"},
    {"RESOLUTION_JOB_ENDED", "job ended"},  {"RESOLUTION_JOB_STOPPED", "job stopped"},
    {"RESOLUTION_JOB_DIED", "job died"},    {"RESOLUTION_JOB_LOST", "job lost"},
    {"RESOLUTION_BY_HAND", "resolved"},
};

constexpr Words kAdvice[] = {
    {"none", "Nothing has to be done."},
    {"observe", "Keep watching; the evidence does not justify an intervention yet."},
    {"cordon_and_replace",
     "Take the machine out of scheduling, replace it and restart the job from its last checkpoint; then test the "
     "machine."},
    {"check_link", "Check the cable, the transceiver and the switch port of the link that is named above."},
    {"check_software",
     "Look first at the process that is named above (its share of the work, stack, signals, logs): its software may "
     "hold "
     "the job up, not the machine."},
    {"rebalance", "Rebalance the work between ranks; replacing a machine would not help."},
};

}  // namespace

absl::Span<const Words> ClassWords() { return kClasses; }

absl::Span<const Words> ResolutionWords() { return kResolutions; }

absl::Span<const Words> AdviceWords() { return kAdvice; }

absl::string_view FindWords(absl::Span<const Words> table, absl::string_view name) {
  for (const Words& words : table) {
    if (words.name == name) return words.text;
  }
  return name;
}

}  // namespace lockstep
