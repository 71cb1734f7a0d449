#include "sim/world.h"

#include <algorithm>
#include <cstddef>

#include "sim/chance.h"
#include "sim/hang_site.h"

namespace lockstep {
namespace {

using enum FaultKind;

constexpr double kPcieShareOfCompute = 0.2;    // of a PCIe fault's severity that reaches the compute
constexpr double kGarbageShareOfRanks = 0.03;  // of the ranks stall in a step
constexpr int32_t kMostGarbageRanks = 4;
constexpr double kHotExpertShare = 0.125;  // of the experts are hot
constexpr int32_t kDriftPeriods = 2;       // the wave is so many times as long as the job
constexpr double kCheckpointSpread = 0.05;

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// Within [-1, 1], period `period`, piecewise parabolic: a sine without libm.
double Wave(int32_t step, int32_t period) {
  const double turn = static_cast<double>(step % period) / period;
  const double half = turn < 0.5 ? turn * 2 : turn * 2 - 1;
  return (turn < 0.5 ? 4 : -4) * half * (1 - half);
}

int32_t SomeInstruction(const Plan& plan, int32_t stage, double share) {
  return static_cast<int32_t>(share * static_cast<double>(plan.stages[stage].instructions.size() - 1));
}

}  // namespace

std::vector<Phase> PhasesOf(const Schedule& schedule) {
  std::vector<Phase> phases;
  const auto add = [&](PhaseKind kind, int32_t step) {
    phases.push_back({.kind = kind, .step = step, .number = static_cast<int32_t>(phases.size())});
  };
  for (int32_t step = 0; step < schedule.steps; ++step) {
    add(PhaseKind::kStep, step);
    if (step + 1 == schedule.steps) break;
    if (schedule.evaluate_every > 0 && (step + 1) % schedule.evaluate_every == 0) add(PhaseKind::kEvaluation, step);
    if (schedule.checkpoint_every > 0 && (step + 1) % schedule.checkpoint_every == 0) add(PhaseKind::kCheckpoint, step);
  }
  return phases;
}

int32_t LastStepOf(const FaultSpec& fault, int32_t steps) {
  const int32_t once = fault.kind == kPause || fault.kind == kSwitchReboot ? 1 : 0;
  const int32_t duration = fault.duration_steps > 0 ? fault.duration_steps : once;
  return duration == 0 ? steps - 1 : std::min(steps - 1, fault.onset_step + duration - 1);
}

double SeverityAt(const FaultSpec& fault, int32_t step) {
  if (step < fault.onset_step || step > LastStepOf(fault, kMaxSimulatedSteps)) return 0;
  const double full = fault.severity > 0 ? fault.severity : InfoOf(fault.kind).typical_severity;
  return full * std::min(1.0, (step - fault.onset_step + 1.0) / (fault.ramp_steps + 1.0));
}

World::World(const JobSpec& job, const Layout& layout, uint64_t seed) : job_(job), layout_(layout), seed_(seed) {
  const Chance binning(seed, ChanceUse::kBinning);
  binning_.resize(layout.ranks());
  for (int32_t r = 0; r < layout.ranks(); ++r) {
    binning_[r] = static_cast<float>(1 + job.noise.gpu_binning * Chance::BellOf(binning.At(r)));
  }
  conditions_.issue.resize(layout.ranks());
  conditions_.input_ns.resize(layout.ranks());
  conditions_.stage.resize(layout.stages());
}

const StepConditions& World::At(const Phase& phase, absl::Span<const FaultSpec> faults, const Plan& plan) {
  ApplyNoise(phase);
  if (phase.kind != PhaseKind::kCheckpoint && conditions_.stalls.empty()) {
    const Chance hiccup(seed_, ChanceUse::kHiccup, phase.number);
    if (hiccup.Unit(0) < job_.noise.hiccup_per_step) {
      conditions_.stalls.resize(layout_.ranks());
      const auto rank = static_cast<int32_t>(hiccup.Unit(1) * layout_.ranks());
      conditions_.stalls[rank] = {.instruction = SomeInstruction(plan, layout_.StageOf(rank), hiccup.Unit(2)),
                                  .length_ns = Nanos(job_.noise.hiccup_seconds * Chance::BlowOf(hiccup.At(3)))};
    }
  }
  for (const FaultSpec& fault : faults) {
    const double severity = SeverityAt(fault, phase.step);
    if (severity > 0) ApplyFault(fault, severity, phase, plan);
  }
  return conditions_;
}

void World::ApplyNoise(const Phase& phase) {
  StepConditions& c = conditions_;
  const JobNoise& noise = job_.noise;
  c.compute = binning_;
  std::fill(c.issue.begin(), c.issue.end(), 1.0f);
  std::fill(c.stage.begin(), c.stage.end(), 1.0f);
  c.stalls.clear();
  c.sequence.clear();
  c.expert.clear();
  c.expert_traffic = 1;
  c.network = {};
  c.hangs.clear();

  const uint64_t step_bits = Chance(seed_, ChanceUse::kStep).At(phase.number);
  c.common = 1 + noise.step_cv * Chance::BellOf(step_bits);
  if (phase.number == 0) c.common *= noise.warmup_factor;

  const Chance input(seed_, ChanceUse::kInput, phase.number);
  const bool checkpoint = phase.kind == PhaseKind::kCheckpoint;
  const double seconds = checkpoint ? job_.schedule.checkpoint_seconds : job_.workload.input_seconds;
  const double spread = checkpoint ? kCheckpointSpread : noise.input_cv;
  for (int32_t r = 0; r < layout_.ranks(); ++r) {
    c.input_ns[r] = Nanos(seconds * (1 + spread * Chance::BellOf(input.At(r)) / 3));
  }
  if (noise.sequence_length_cv > 0) {
    ApplyStructure({.kind = kSequenceImbalance}, noise.sequence_length_cv, phase);
  }
  if (noise.expert_cv > 0) {
    const Chance expert(seed_, ChanceUse::kExpert, phase.number);
    c.expert.resize(job_.parallelism.expert);
    for (size_t e = 0; e < c.expert.size(); ++e) {
      c.expert[e] = static_cast<float>(1 + noise.expert_cv * Chance::BellOf(expert.At(e)) / 3);
    }
  }
}

void World::ApplyFault(const FaultSpec& fault, double severity, const Phase& phase, const Plan& plan) {
  switch (fault.kind) {
    case kComputeSlow:
    case kClockThrottled:
    case kPcieDegraded:
    case kHostSlow:
    case kJobRegression:
    case kDrift:
      ApplyCompute(fault, severity);
      if (fault.kind == kDrift) {
        conditions_.common *= 1 + severity * Wave(phase.step - fault.onset_step, kDriftPeriods * job_.schedule.steps);
      }
      if (fault.kind == kPcieDegraded) ApplyNetwork(fault, severity, phase);
      return;
    case kNicSendSlow:
    case kNicReceiveSlow:
    case kLinkSlow:
    case kSwitchCongested:
    case kSwitchReboot:
    case kNvlinkSlow:
      ApplyNetwork(fault, severity, phase);
      return;
    case kGarbageCollection:
    case kStorageStall:
    case kPause:
      if (phase.kind == PhaseKind::kStep) ApplyPauses(fault, severity, phase, plan);
      return;
    case kSequenceImbalance:
    case kStageImbalance:
    case kExpertImbalance:
      ApplyStructure(fault, severity, phase);
      return;
    case kSilentCorruption:
      return;
    default:
      if (phase.kind == PhaseKind::kStep && phase.step == fault.onset_step) ApplyHang(fault, plan);
  }
}

void World::ApplyCompute(const FaultSpec& fault, double severity) {
  if (fault.kind == kJobRegression) conditions_.common *= 1 + severity;
  const double share = fault.kind == kPcieDegraded ? kPcieShareOfCompute : 1;
  for (const int32_t target : fault.targets) {
    if (fault.kind == kHostSlow) {
      const int32_t first = target * job_.gpus_per_host;
      const int32_t end = std::min(first + job_.gpus_per_host, layout_.ranks());
      for (int32_t r = first; r < end; ++r) conditions_.issue[r] *= static_cast<float>(1 + severity);
    } else {
      conditions_.compute[target] *= static_cast<float>(1 + severity * share);
    }
  }
}

void World::StartNetwork() {
  NetworkConditions& network = conditions_.network;
  if (network.any) return;
  network.any = true;
  network.send.assign(layout_.ranks(), 1.0f);
  network.receive.assign(layout_.ranks(), 1.0f);
  network.nvlink.assign(layout_.ranks(), 1.0f);
  network.leaf.assign(layout_.leaves(), 1.0f);
}

void World::ApplyNetwork(const FaultSpec& fault, double severity, const Phase& phase) {
  StartNetwork();
  NetworkConditions& network = conditions_.network;
  const auto factor = static_cast<float>(1 + severity);
  if (fault.kind == kLinkSlow) {
    for (size_t i = 0; i + 1 < fault.targets.size(); i += 2) {
      network.pairs.push_back({fault.targets[i], fault.targets[i + 1], factor});
    }
    return;
  }
  for (size_t i = 0; i < fault.targets.size(); ++i) {
    const int32_t target = fault.targets[i];
    if (fault.kind == kNicSendSlow || fault.kind == kPcieDegraded) network.send[target] *= factor;
    if (fault.kind == kNicReceiveSlow || fault.kind == kPcieDegraded) network.receive[target] *= factor;
    if (fault.kind == kNvlinkSlow) network.nvlink[target] *= factor;
    if (fault.kind == kSwitchCongested) network.leaf[target] *= factor;
    if (fault.kind == kSwitchReboot) {
      const Chance when(seed_, ChanceUse::kFault, phase.number, fault.onset_step);
      network.freezes.push_back({.leaf = target, .begin_share = 0.8 * when.Unit(i), .length_ns = Nanos(severity)});
    }
  }
}

void World::ApplyPauses(const FaultSpec& fault, double severity, const Phase& phase, const Plan& plan) {
  StepConditions& c = conditions_;
  const int32_t ranks = layout_.ranks();
  if (fault.kind == kGarbageCollection) {
    const Chance collection(seed_, ChanceUse::kPause, phase.number);
    const int32_t count = std::clamp(static_cast<int32_t>(kGarbageShareOfRanks * ranks), 1, kMostGarbageRanks);
    c.stalls.resize(ranks);
    for (int32_t i = 0; i < count; ++i) {
      const auto rank = static_cast<int32_t>(collection.Unit(3 * i) * ranks);
      c.stalls[rank] = {.instruction = SomeInstruction(plan, layout_.StageOf(rank), collection.Unit(3 * i + 1)),
                        .length_ns = Nanos(severity * (0.8 + 0.4 * collection.Unit(3 * i + 2)))};
    }
    return;
  }
  if (fault.kind == kPause || fault.targets.empty()) {
    for (int64_t& input_ns : c.input_ns) input_ns += Nanos(severity);
    return;
  }
  for (const int32_t host : fault.targets) {
    const int32_t end = std::min((host + 1) * job_.gpus_per_host, ranks);
    for (int32_t r = host * job_.gpus_per_host; r < end; ++r) c.input_ns[r] += Nanos(severity);
  }
}

void World::ApplyStructure(const FaultSpec& fault, double severity, const Phase& phase) {
  StepConditions& c = conditions_;
  if (fault.kind == kStageImbalance) {
    c.stage.back() *= static_cast<float>(1 + severity);
    return;
  }
  if (fault.kind == kSequenceImbalance) {
    const Chance length(seed_, ChanceUse::kSequence, phase.number);
    const int32_t microbatches = std::max(job_.workload.microbatches, job_.schedule.evaluate_batches);
    c.sequence.resize(static_cast<size_t>(job_.parallelism.data) * microbatches);
    for (size_t i = 0; i < c.sequence.size(); ++i) {
      c.sequence[i] = static_cast<float>(std::max(0.3, 1 + severity * Chance::BellOf(length.At(i))));
    }
    return;
  }
  // Hot experts stay hot, with a little routing noise: which ones depends on the seed alone.
  c.expert.resize(job_.parallelism.expert, 1.0f);
  const Chance noise(seed_, ChanceUse::kExpert, phase.number);
  const auto experts = static_cast<int32_t>(c.expert.size());
  const int32_t hot = std::max(1, static_cast<int32_t>(kHotExpertShare * experts));
  const auto first = static_cast<int32_t>(Chance(seed_, ChanceUse::kExpert).Unit(0) * experts);
  for (int32_t i = 0; i < hot; ++i) {
    const int32_t expert = (first + i) % experts;
    c.expert[expert] *= static_cast<float>(1 + severity * (1 + 0.1 * Chance::BellOf(noise.At(expert))));
  }
  c.expert_traffic = 1 + severity;
}

void World::ApplyHang(const FaultSpec& fault, const Plan& plan) {
  const bool by_host = InfoOf(fault.kind).target == TargetKind::kHost;
  for (const int32_t target : fault.targets) {
    const int32_t first = by_host ? target * job_.gpus_per_host : target;
    const int32_t end = by_host ? std::min(first + job_.gpus_per_host, layout_.ranks()) : first + 1;
    for (int32_t r = first; r < end; ++r) {
      const int32_t stage = layout_.StageOf(r);
      // All targets stop at about the same moment: later ones would only find themselves stuck already.
      const double when = Chance(seed_, ChanceUse::kFault, fault.onset_step).Unit(0);
      const int32_t site = HangSite(fault.kind, r, layout_, plan.stages[stage], when);
      if (site >= 0) conditions_.hangs.push_back({.kind = fault.kind, .rank = r, .instruction = site});
    }
  }
}

}  // namespace lockstep
