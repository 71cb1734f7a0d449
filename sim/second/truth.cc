#include "sim/second/truth.h"

#include <algorithm>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace lockstep::second {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

struct Description {
  FaultKind kind;
  const char* name;
  Words scopes;
  Words classes;
  bool machine_fault;
};

const std::vector<Description>& Descriptions() {
  static const auto* const kAll = new std::vector<Description>{
      {FaultKind::kComputeSlow, "compute_slow", {"machine"}, {"compute_slow", "clock_throttled", "gpu_fault"}, true},
      {FaultKind::kHostSlow, "host_slow", {"machine"}, {"host_slow"}, true},
      {FaultKind::kHostsSlow,
       "hosts_slow",
       {"machine"},
       {"compute_slow", "host_slow", "clock_throttled", "gpu_fault"},
       true},
      {FaultKind::kNicTxSlow, "nic_tx_slow", {"network", "machine"}, {"comm_slow_tx"}, true},
      {FaultKind::kNicRxSlow, "nic_rx_slow", {"network", "machine"}, {"comm_slow_rx"}, true},
      {FaultKind::kLeafSlow,
       "leaf_slow",
       {"network"},
       {"group_slow", "link_slow", "comm_slow_tx", "comm_slow_rx"},
       true},
      {FaultKind::kNvlinkSlow, "nvlink_slow", {"machine", "network"}, {"nvlink_slow"}, true},
      {FaultKind::kLinkSlow, "link_slow", {"network"}, {"link_slow"}, true},
      {FaultKind::kStageImbalance, "stage_imbalance", {"structural"}, {"stage_imbalance"}, false},
      {FaultKind::kExpertImbalance, "expert_imbalance", {"structural"}, {"expert_imbalance"}, false},
      {FaultKind::kSequenceImbalance, "sequence_imbalance", {"structural"}, {"sequence_imbalance"}, false},
      {FaultKind::kJobRegression, "job_regression", {"job", "software"}, {"job_regression"}, false},
      {FaultKind::kPauses, "pauses", {"job", "software", "structural"}, {"pause"}, false},
      {FaultKind::kHangNotEntered, "hang_not_entered", {"machine", "software", "unknown"}, {"hang_not_entered"}, true},
      {FaultKind::kHangKernel, "hang_not_entered", {"machine", "software", "unknown"}, {"hang_not_entered"}, true},
      {FaultKind::kHangInCommunication,
       "hang_in_communication",
       {"network", "machine"},
       {"hang_in_communication"},
       true},
      {FaultKind::kMismatch, "collective_mismatch", {"software"}, {"collective_mismatch"}, false},
      {FaultKind::kDeadlock, "deadlock", {"software"}, {"deadlock"}, false},
      {FaultKind::kProcessDead, "process_dead", {"machine", "software", "unknown"}, {"process_dead"}, true},
      {FaultKind::kMachineUnreachable, "machine_unreachable", {"machine", "unknown"}, {"machine_unreachable"}, true}};
  return *kAll;
}

Json CostJson(const TrueCost& cost) {
  return {{"seconds_per_step", cost.seconds_per_step},
          {"slowdown_fraction", cost.slowdown_fraction},
          {"slowdown_fraction_affected", cost.slowdown_fraction_affected},
          {"steps_affected_fraction", cost.steps_affected_fraction}};
}

Json FaultJson(const TrueFault& fault) {
  return {{"kind", fault.kind},
          {"scope", fault.scopes},
          {"class", fault.classes},
          {"machine_fault", fault.machine_fault},
          {"silence_ok", fault.silence_ok},
          {"onset_step", fault.fault.onset_step},
          {"severity", fault.fault.severity},
          {"probability", fault.fault.probability},
          {"hosts", fault.hosts},
          {"ranks", fault.ranks},
          {"also_ok", fault.also_ok},
          {"cost", CostJson(fault.cost)}};
}

}  // namespace

TrueFault Described(const Fault& fault) {
  TrueFault described;
  described.fault = fault;
  for (const Description& row : Descriptions()) {
    if (row.kind != fault.kind) continue;
    described.kind = row.name;
    described.scopes = row.scopes;
    described.classes = row.classes;
    described.machine_fault = row.machine_fault;
  }
  return described;
}

std::string TruthText(const Truth& truth) {
  const auto is_machine = [](const TrueFault& fault) { return fault.machine_fault; };
  const auto may_be_silent = [](const TrueFault& fault) { return fault.silence_ok; };
  Json faults = Json::array();
  for (const TrueFault& fault : truth.faults) faults.push_back(FaultJson(fault));
  const Json json = {{"name", truth.name},
                     {"seed", truth.seed},
                     {"ranks", truth.ranks},
                     {"steps", truth.steps},
                     {"hang", truth.hang},
                     {"machine_fault", std::any_of(truth.faults.begin(), truth.faults.end(), is_machine)},
                     {"silence_ok", std::all_of(truth.faults.begin(), truth.faults.end(), may_be_silent)},
                     {"layout",
                      {{"tp", truth.shape.tensor},
                       {"pp", truth.shape.pipeline},
                       {"dp", truth.shape.data},
                       {"cp", truth.shape.context},
                       {"ep", truth.shape.expert},
                       {"vpp", truth.shape.chunks}}},
                     {"step_seconds_median", truth.step_seconds_median},
                     {"healthy_step_seconds_median", truth.healthy_step_seconds_median},
                     {"healthy_steps_over_1.3", truth.healthy_long_steps},
                     {"silent_hosts", truth.silent_hosts},
                     {"faults", std::move(faults)},
                     {"world", truth.features},
                     {"host_names", truth.host_names}};
  return json.dump(1) + "\n";
}

}  // namespace lockstep::second
