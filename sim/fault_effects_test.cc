// What each fault leaves in the records: longer work, longer transfers, later launches, and nothing where it is not.
// The jobs are free of noise and of clock errors, so that records with and without a fault differ by the fault alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "detector/model/operation_kind.h"
#include "detector/model/trace.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/layout.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int32_t kOnset = 3;
constexpr int32_t kSteps = 6;

JobSpec QuietJob(const Parallelism& cut) {
  JobSpec job;
  job.parallelism = cut;
  job.hosts_per_leaf = 2;
  job.workload.microbatches = 4;
  job.schedule.steps = kSteps;
  job.noise = {};
  job.noise.gpu_binning = job.noise.compute_cv = job.noise.step_cv = job.noise.heavy_tail_share = 0;
  job.noise.transfer_cv = job.noise.hiccup_per_step = job.noise.input_cv = 0;
  job.noise.warmup_factor = 1;
  job.recording.clock_offset_seconds = job.recording.clock_drift = 0;
  job.recording.names_groups = true;
  return job;
}

JobSpec DataJob() { return QuietJob({.tensor = 8, .data = 8}); }  // 8 hosts, 4 leaves
JobSpec PipelineJob() { return QuietJob({.tensor = 8, .data = 2, .pipeline = 4}); }
JobSpec ExpertJob() { return QuietJob({.tensor = 2, .data = 8, .expert = 8}); }

Trace TraceOf(const JobSpec& job, const std::vector<FaultSpec>& faults = {}) {
  return Simulate(job, faults, 7).evidence.trace;
}

FaultSpec FaultOn(FaultKind kind, std::vector<int32_t> targets, double severity) {
  return {.kind = kind, .targets = std::move(targets), .onset_step = kOnset, .severity = severity};
}

// The communicator's name up to its number: "tp", "dp", "world".
std::string FamilyOf(const Trace& trace, const TraceOperation& op) {
  const std::string& hint = trace.communicators[static_cast<size_t>(op.communicator)].hint;
  return hint.substr(0, hint.find('_'));
}

// The operations of a rank in each step: all steps have as many.
std::vector<std::vector<TraceOperation>> StepsOf(const Trace& trace, int32_t rank) {
  const auto operations = trace.OperationsOf(static_cast<size_t>(rank));
  EXPECT_EQ(operations.size() % kSteps, 0u);
  const size_t per_step = operations.size() / kSteps;
  std::vector<std::vector<TraceOperation>> steps;
  for (size_t s = 0; s < kSteps; ++s) {
    const auto step = operations.subspan(s * per_step, per_step);
    steps.emplace_back(step.begin(), step.end());
  }
  return steps;
}

// Between the operations of its tensor group: what a rank computes, by step.
std::vector<double> WorkSeconds(const Trace& trace, int32_t rank) {
  std::vector<double> seconds;
  for (const std::vector<TraceOperation>& step : StepsOf(trace, rank)) {
    double sum = 0;
    int64_t end_ns = kNoTime;
    for (const TraceOperation& op : step) {
      if (FamilyOf(trace, op) != "tp") continue;
      if (end_ns != kNoTime) sum += static_cast<double>(op.start_ns - end_ns) * 1e-9;
      end_ns = op.end_ns;
    }
    seconds.push_back(sum);
  }
  return seconds;
}

// Of each communicator of a family: how long its data was under way in each step, told by the last who entered.
std::map<std::string, std::vector<double>> TransferSeconds(const Trace& trace, const std::string& family) {
  using Call = std::tuple<int32_t, uint64_t, OperationKind, int32_t>;
  std::map<Call, std::pair<int64_t, size_t>> shortest;  // duration, step
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto steps = StepsOf(trace, static_cast<int32_t>(rank));
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const TraceOperation& op : steps[s]) {
        if (FamilyOf(trace, op) != family || op.peer >= 0) continue;
        const Call call(op.communicator, op.sequence, op.kind, op.peer);
        const auto [known, added] = shortest.emplace(call, std::pair(op.duration_ns(), s));
        known->second.first = std::min(known->second.first, op.duration_ns());
      }
    }
  }
  std::map<std::string, std::vector<double>> seconds;
  for (const auto& [call, duration] : shortest) {
    const std::string& name = trace.communicators[static_cast<size_t>(std::get<0>(call))].hint;
    std::vector<double>& of_name = seconds.emplace(name, std::vector<double>(kSteps, 0)).first->second;
    of_name[duration.second] += static_cast<double>(duration.first) * 1e-9;
  }
  return seconds;
}

constexpr double kExitSkew = 0.005;  // members leave an operation at moments that differ by its latency

// Ratios of two rows, before the onset and from then on. All of either part must agree but for the skew of exits.
std::pair<double, double> Ratios(const std::vector<double>& with, const std::vector<double>& without) {
  std::pair<double, double> ratios(0, 0);
  for (size_t s = 0; s < with.size(); ++s) {
    double& ratio = s < kOnset ? ratios.first : ratios.second;
    const double here = with[s] / without[s];
    if (ratio != 0) {
      EXPECT_NEAR(here, ratio, kExitSkew * ratio) << "step " << s;
    }
    ratio = here;
  }
  return ratios;
}

// Ranks whose work changed, and by how much.
std::map<int32_t, double> ChangedWork(const JobSpec& job, const FaultSpec& fault) {
  const Trace with = TraceOf(job, {fault}), without = TraceOf(job);
  std::map<int32_t, double> changed;
  for (int32_t rank = 0; rank < job.parallelism.gpus(); ++rank) {
    const auto [before, after] = Ratios(WorkSeconds(with, rank), WorkSeconds(without, rank));
    EXPECT_NEAR(before, 1, 1e-6) << rank;
    if (std::abs(after - 1) > kExitSkew) changed[rank] = after;
  }
  return changed;
}

// Communicators whose transfers changed, and by how much.
std::map<std::string, double> ChangedTransfers(const JobSpec& job, const FaultSpec& fault, const std::string& family) {
  const auto with = TransferSeconds(TraceOf(job, {fault}), family), without = TransferSeconds(TraceOf(job), family);
  std::map<std::string, double> changed;
  EXPECT_EQ(with.size(), without.size());
  for (const auto& [name, seconds] : without) {
    const auto [before, after] = Ratios(with.at(name), seconds);
    EXPECT_NEAR(before, 1, 1e-6) << name;
    if (std::abs(after - 1) > kExitSkew) changed[name] = after;
  }
  return changed;
}

std::set<std::string> KeysOf(const std::map<std::string, double>& values) {
  std::set<std::string> keys;
  for (const auto& [key, value] : values) keys.insert(key);
  return keys;
}

TEST(WorkFaultTest, ASlowGpuWorksLongerAndNobodyElseDoes) {
  for (const FaultKind kind : {FaultKind::kComputeSlow, FaultKind::kClockThrottled}) {
    for (const double severity : {0.1, 0.5, 3.0}) {
      const std::map<int32_t, double> changed = ChangedWork(DataJob(), FaultOn(kind, {13, 40}, severity));
      ASSERT_EQ(changed.size(), 2u) << severity;
      EXPECT_NEAR(changed.at(13), 1 + severity, 0.01 * (1 + severity));
      EXPECT_NEAR(changed.at(40), 1 + severity, 0.01 * (1 + severity));
    }
  }
}

TEST(WorkFaultTest, ADegradedPcieLinkCostsAFifthOfItOnTheComputeAndAllOfItOnTheNic) {
  const FaultSpec fault = FaultOn(FaultKind::kPcieDegraded, {13}, 1);
  const std::map<int32_t, double> work = ChangedWork(DataJob(), fault);
  ASSERT_EQ(work.size(), 1u);
  EXPECT_NEAR(work.at(13), 1.2, 0.01);
  const std::map<std::string, double> transfers = ChangedTransfers(DataJob(), fault, "dp");
  EXPECT_THAT(KeysOf(transfers), ElementsAre("dp_5")) << "13 is the sixth of its tensor group";
  EXPECT_NEAR(transfers.at("dp_5"), 2, 0.02);
}

TEST(WorkFaultTest, ARegressionHitsEverybodyAlike) {
  const std::map<int32_t, double> changed = ChangedWork(DataJob(), FaultOn(FaultKind::kJobRegression, {}, 0.2));
  ASSERT_EQ(changed.size(), 64u);
  for (const auto& [rank, ratio] : changed) EXPECT_NEAR(ratio, 1.2, 0.002) << rank;
}

TEST(WorkFaultTest, AnUnevenLastStageIsSlowInAllItsReplicas) {
  const std::map<int32_t, double> changed = ChangedWork(PipelineJob(), FaultOn(FaultKind::kStageImbalance, {}, 0.4));
  // Work within a step also holds the waits for other stages between two tensor operations: only those get shorter or
  // longer elsewhere. The last stage itself never waits for a later one.
  for (int32_t rank = 48; rank < 64; ++rank) {
    ASSERT_EQ(changed.count(rank), 1u) << rank;
    EXPECT_NEAR(changed.at(rank), changed.at(48), 0.001);
    EXPECT_GT(changed.at(rank), 1.05);
  }
}

TEST(WorkFaultTest, BatchesOfDifferentLengthAreSharedByTheirReplica) {
  const JobSpec job = DataJob();
  const Trace with = TraceOf(job, {FaultOn(FaultKind::kSequenceImbalance, {}, 0.3)}), without = TraceOf(job);
  std::set<double> ratios;
  for (int32_t replica = 0; replica < 8; ++replica) {
    std::vector<double> first;
    for (int32_t tensor = 0; tensor < 8; ++tensor) {
      const std::vector<double> seconds = WorkSeconds(with, replica * 8 + tensor);
      const std::vector<double> usual = WorkSeconds(without, replica * 8 + tensor);
      for (int32_t s = 0; s < kOnset; ++s) EXPECT_NEAR(seconds[s], usual[s], 1e-6);
      if (tensor == 0) first = seconds;
      for (size_t s = 0; s < kSteps; ++s)
        EXPECT_NEAR(seconds[s], first[s], 1e-4) << "all of a replica work on one batch";
    }
    for (size_t s = kOnset; s < kSteps; ++s) ratios.insert(first[s] / WorkSeconds(without, replica * 8)[s]);
  }
  EXPECT_EQ(ratios.size(), 8u * (kSteps - kOnset)) << "each replica and step has a length of its own";
  EXPECT_LT(*ratios.begin(), 0.95);
  EXPECT_GT(*ratios.rbegin(), 1.05);
}

TEST(TransferFaultTest, ASlowNicSlowsTheGroupsThatLeaveItsHost) {
  for (const FaultKind kind : {FaultKind::kNicSendSlow, FaultKind::kNicReceiveSlow}) {
    const std::map<std::string, double> data = ChangedTransfers(DataJob(), FaultOn(kind, {19}, 3), "dp");
    EXPECT_THAT(KeysOf(data), ElementsAre("dp_3"));
    EXPECT_NEAR(data.at("dp_3"), 4, 0.05);
    EXPECT_TRUE(ChangedTransfers(DataJob(), FaultOn(kind, {19}, 3), "tp").empty()) << "NVLink is as fast as ever";
    EXPECT_TRUE(ChangedWork(DataJob(), FaultOn(kind, {19}, 3)).empty());
  }
}

TEST(TransferFaultTest, ASlowNvlinkSlowsItsTensorGroup) {
  const FaultSpec fault = FaultOn(FaultKind::kNvlinkSlow, {19}, 9);
  const std::map<std::string, double> tensor = ChangedTransfers(DataJob(), fault, "tp");
  EXPECT_THAT(KeysOf(tensor), ElementsAre("tp_2"));
  EXPECT_GT(tensor.at("tp_2"), 5) << "all but the latency";
  EXPECT_LE(tensor.at("tp_2"), 10);
  EXPECT_TRUE(ChangedTransfers(DataJob(), fault, "dp").empty());
}

TEST(TransferFaultTest, ASlowLinkSlowsTheRingsThatPassIt) {
  const std::map<std::string, double> next =
      ChangedTransfers(DataJob(), FaultOn(FaultKind::kLinkSlow, {2, 3}, 3), "dp");
  EXPECT_EQ(next.size(), 8u) << "every data group goes from host 2 to host 3";
  for (const auto& [name, ratio] : next) EXPECT_NEAR(ratio, 4, 0.05) << name;
  EXPECT_TRUE(ChangedTransfers(DataJob(), FaultOn(FaultKind::kLinkSlow, {2, 5}, 3), "dp").empty())
      << "no ring goes from host 2 to host 5";
}

TEST(TransferFaultTest, ACongestedLeafSlowsAllThatCrossIt) {
  const std::map<std::string, double> data =
      ChangedTransfers(DataJob(), FaultOn(FaultKind::kSwitchCongested, {1}, 3), "dp");
  EXPECT_EQ(data.size(), 8u);
  for (const auto& [name, ratio] : data) EXPECT_NEAR(ratio, 4, 0.05) << name;
}

TEST(TransferFaultTest, ARebootStopsTransfersOnceAndForSeconds) {
  const JobSpec job = DataJob();
  const FaultSpec fault = FaultOn(FaultKind::kSwitchReboot, {1}, 3);
  const Episode with = Simulate(job, {&fault, 1}, 7), without = Simulate(job, {}, 7);
  for (size_t s = 0; s < kSteps; ++s) {
    const double later = static_cast<double>(with.truth.step_ns[s] - without.truth.step_ns[s]) * 1e-9;
    if (s == kOnset) {
      EXPECT_GT(later, 0.3);
      EXPECT_LT(later, 3.01);
    } else {
      EXPECT_NEAR(later, 0, 1e-6) << s;
    }
  }
}

TEST(TransferFaultTest, HotExpertsMakeAllToAllsLonger) {
  const std::map<std::string, double> exchanges =
      ChangedTransfers(ExpertJob(), FaultOn(FaultKind::kExpertImbalance, {}, 1), "ep");
  EXPECT_FALSE(exchanges.empty());
  for (const auto& [name, ratio] : exchanges) EXPECT_GT(ratio, 1.5) << name;
  EXPECT_TRUE(ChangedTransfers(ExpertJob(), FaultOn(FaultKind::kExpertImbalance, {}, 1), "dp").empty());
}

// When the first operation of each step begins, after the end of the step before.
std::vector<double> FirstCallSeconds(const Episode& episode, int32_t rank) {
  std::vector<double> seconds;
  int64_t end_ns = 0;
  for (const std::vector<TraceOperation>& step : StepsOf(episode.evidence.trace, rank)) {
    seconds.push_back(static_cast<double>(step.front().enqueue_ns - end_ns) * 1e-9);
    for (const TraceOperation& op : step) end_ns = std::max(end_ns, op.end_ns);
  }
  return seconds;
}

TEST(HostFaultTest, LateInputDelaysTheFirstCallOfItsHost) {
  const JobSpec job = DataJob();
  const Episode without = Simulate(job, {}, 7);
  const auto delays = [&](const FaultSpec& fault, int32_t rank) {
    const Episode with = Simulate(job, {&fault, 1}, 7);
    std::vector<double> late = FirstCallSeconds(with, rank);
    const std::vector<double> usual = FirstCallSeconds(without, rank);
    for (size_t s = 0; s < late.size(); ++s) late[s] -= usual[s];
    return late;
  };
  const FaultSpec one_host = FaultOn(FaultKind::kStorageStall, {2}, 0.5);
  const auto near = [](double value) { return ::testing::DoubleNear(value, 0.002); };
  EXPECT_THAT(delays(one_host, 16), ElementsAre(near(0), near(0), near(0), near(0.5), near(0.5), near(0.5)));
  EXPECT_THAT(delays(one_host, 15), Each(near(0)));
  const FaultSpec all = FaultOn(FaultKind::kStorageStall, {}, 0.5);
  EXPECT_THAT(delays(all, 15), ElementsAre(near(0), near(0), near(0), near(0.5), near(0.5), near(0.5)));
  const FaultSpec pause = FaultOn(FaultKind::kPause, {}, 2);
  EXPECT_THAT(delays(pause, 40), ElementsAre(near(0), near(0), near(0), near(2), near(0), near(0)));
}

// Mean time by which a call comes before it begins on the GPU: how far the host is ahead.
double LeadSeconds(const Trace& trace, int32_t rank, size_t from_step) {
  double sum = 0, count = 0;
  const auto steps = StepsOf(trace, rank);
  for (size_t s = from_step; s < kSteps; ++s) {
    for (const TraceOperation& op : steps[s]) {
      sum += static_cast<double>(op.start_ns - op.enqueue_ns) * 1e-9;
      ++count;
    }
  }
  return sum / count;
}

TEST(HostFaultTest, AStarvingHostLosesItsLead) {
  const JobSpec job = DataJob();
  const Trace with = TraceOf(job, {FaultOn(FaultKind::kHostSlow, {2}, 6)}), without = TraceOf(job);
  for (int32_t rank = 16; rank < 24; ++rank) {
    EXPECT_LT(LeadSeconds(with, rank, kOnset), 0.5 * LeadSeconds(without, rank, kOnset)) << rank;
  }
  for (int32_t rank : {0, 15, 24, 63}) {
    EXPECT_GT(LeadSeconds(with, rank, kOnset), 0.9 * LeadSeconds(without, rank, kOnset)) << rank;
  }
}

TEST(HostFaultTest, CollectionsOfGarbageRotateOverTheRanks) {
  JobSpec job = DataJob();
  const FaultSpec fault = {.kind = FaultKind::kGarbageCollection, .onset_step = 1, .severity = 0.3};
  const Episode with = Simulate(job, {&fault, 1}, 7), without = Simulate(job, {}, 7);
  std::map<size_t, std::set<int32_t>> stalled;  // by step
  for (int32_t rank = 0; rank < 64; ++rank) {
    const auto late = StepsOf(with.evidence.trace, rank), usual = StepsOf(without.evidence.trace, rank);
    for (size_t s = 1; s < kSteps; ++s) {
      int64_t longest_with = 0, longest_without = 0;  // between two calls of the host
      for (size_t i = 1; i < late[s].size(); ++i) {
        longest_with = std::max(longest_with, late[s][i].enqueue_ns - late[s][i - 1].enqueue_ns);
        longest_without = std::max(longest_without, usual[s][i].enqueue_ns - usual[s][i - 1].enqueue_ns);
      }
      if (longest_with > longest_without + 200'000'000) stalled[s].insert(rank);
    }
    EXPECT_EQ(with.truth.step_ns[0], without.truth.step_ns[0]);
  }
  std::set<std::set<int32_t>> distinct;
  for (const auto& [step, ranks] : stalled) distinct.insert(ranks);
  EXPECT_GE(stalled.size(), 3u);
  EXPECT_GE(distinct.size(), 2u) << "not always the same";
}

// A hang leaves open what waits for it: the closer to the culprit, the sooner.
TEST(HangEffectTest, EverythingWaitsForTheRankThatDoesNotCome) {
  for (const FaultKind kind : {FaultKind::kNotEntered, FaultKind::kGpuStuck, FaultKind::kProcessDead}) {
    const Episode episode = Simulate(DataJob(), std::vector<FaultSpec>{FaultOn(kind, {19}, 0)}, 7);
    const Trace& trace = episode.evidence.trace;
    std::map<int32_t, int64_t> last_end_ns;
    std::set<int32_t> waiting;
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      for (const TraceOperation& op : trace.OperationsOf(rank)) {
        if (op.finished()) {
          last_end_ns[static_cast<int32_t>(rank)] = std::max(last_end_ns[static_cast<int32_t>(rank)], op.end_ns);
        } else if (op.started()) {
          waiting.insert(static_cast<int32_t>(rank));
        }
      }
    }
    EXPECT_GE(waiting.size(), 63u) << InfoOf(kind).name;
    for (int32_t rank = 16; rank < 24; ++rank) {
      EXPECT_LE(last_end_ns[rank], last_end_ns[0]) << "its tensor group stops first";
    }
    EXPECT_EQ(episode.truth.step_ns.size(), static_cast<size_t>(kOnset));
  }
}

TEST(HangEffectTest, AStuckTransferKeepsAllItsMembersInside) {
  const Episode episode = Simulate(DataJob(), std::vector<FaultSpec>{FaultOn(FaultKind::kTransferStuck, {19}, 0)}, 7);
  const Trace& trace = episode.evidence.trace;
  // Some operation that all its members entered and none left.
  std::map<std::pair<int32_t, uint64_t>, std::pair<size_t, size_t>> calls;  // entered, left
  for (const TraceOperation& op : trace.operations) {
    auto& [entered, left] = calls[{op.communicator, op.sequence}];
    entered += op.started() ? 1 : 0;
    left += op.finished() ? 1 : 0;
  }
  size_t stuck = 0;
  for (const auto& [call, counts] : calls) {
    const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(call.first)].members;
    if (counts.first != members.size() || counts.second != 0) continue;
    ++stuck;
    EXPECT_NE(std::find(members.begin(), members.end(), 19), members.end());
  }
  EXPECT_EQ(stuck, 1u);
}

}  // namespace
}  // namespace lockstep
