// The table of transfers against a slow version that follows the words of transfer_table.h, on random simulated jobs.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/network/transfer_table.h"
#include "detector/steps/begins_seen.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "tests/integration/random_recording.h"

namespace lockstep {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Communicator, source, destination; the latter two are -1 for collectives.
using Wire = std::tuple<int32_t, int32_t, int32_t>;
// Family, point to point, between hosts, kind, bytes.
using Duty = std::tuple<int32_t, bool, bool, OperationKind, uint64_t>;

struct Record {
  size_t rank = 0;
  size_t index = 0;  // into Trace::operations
};

struct Transfer {
  Duty duty;
  Record last_to_arrive;
  double seconds = 0;
};

struct ReferencePath {
  std::vector<int32_t> ranks;
  bool crosses_hosts = false;
  bool exchange = false;
  bool alone = true;
  std::vector<Transfer> transfers;
  std::map<int32_t, double> ratio, excess, longer;  // by step
};

// The value that a quarter, or half, of the others lie below: no interpolation, the lower one where two could serve.
double SortedAt(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

double DeviationOf(std::vector<double> values) {
  const double middle = SortedAt(values, 0.5);
  for (double& value : values) value = std::abs(value - middle);
  return 1.4826 * SortedAt(values, 0.5);
}

class Reference {
 public:
  Reference(const Trace& trace, const JobRoles& roles, const StepTable& steps)
      : trace_(trace), roles_(roles), steps_(steps) {}

  std::map<Wire, ReferencePath> Run() {
    CollectRecords();
    for (const auto& [wire, by_sequence] : records_) AddPath(wire, by_sequence);
    FindUsual();
    for (auto& [wire, path] : paths_) SumSteps(std::get<1>(wire) >= 0, &path);
    return std::move(paths_);
  }

 private:
  int32_t PlaceOf(size_t rank, int32_t communicator) const {
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(communicator)].members;
    return static_cast<int32_t>(std::find(members.begin(), members.end(), static_cast<int32_t>(rank)) -
                                members.begin());
  }

  void CollectRecords() {
    for (size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      for (size_t i = trace_.first_operation[rank]; i < trace_.first_operation[rank + 1]; ++i) {
        const TraceOperation& operation = trace_.operations[i];
        Wire wire{operation.communicator, -1, -1};
        const int32_t own = PlaceOf(rank, operation.communicator);
        if (operation.kind == OperationKind::kSend) wire = {operation.communicator, own, operation.peer};
        if (operation.kind == OperationKind::kRecv) wire = {operation.communicator, operation.peer, own};
        records_[wire][operation.sequence].push_back({rank, i});
      }
    }
  }

  // None where the times of some member tell nothing.
  std::optional<Transfer> TransferOf(const std::vector<Record>& records) const {
    Transfer transfer{.seconds = std::numeric_limits<double>::infinity()};
    for (const Record& record : records) {
      const TraceOperation& operation = trace_.operations[record.index];
      const bool measured = operation.finished() && operation.started() &&
                            operation.quality != TimingQuality::kHostCall &&
                            operation.quality != TimingQuality::kHostEnqueue;
      if (!measured) return std::nullopt;
      const double seconds = static_cast<double>(operation.end_ns - operation.start_ns) * 1e-9;
      if (seconds >= transfer.seconds) continue;
      transfer.seconds = seconds;
      transfer.last_to_arrive = record;
    }
    return transfer;
  }

  // In the middle step, the upper one of two.
  uint64_t CallsPerStep(const std::map<uint64_t, Transfer>& transfers) const {
    std::map<int32_t, uint64_t> calls;
    for (const auto& [sequence, transfer] : transfers) {
      const int32_t step = StepOf(transfer.last_to_arrive);
      if (step >= 0) ++calls[step];
    }
    std::vector<uint64_t> counts;
    for (const auto& [step, count] : calls) counts.push_back(count);
    std::sort(counts.begin(), counts.end());
    return counts.empty() ? 1 : counts[counts.size() / 2];
  }

  void AddPath(const Wire& wire, const std::map<uint64_t, std::vector<Record>>& by_sequence) {
    const auto [communicator, source, destination] = wire;
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(communicator)].members;
    ReferencePath path;
    path.ranks = members;
    if (source >= 0) path.ranks = {members[static_cast<size_t>(source)], members[static_cast<size_t>(destination)]};
    std::set<int32_t> hosts;
    for (const int32_t rank : path.ranks) {
      if (rank < 0) return;  // it left no record at all
      hosts.insert(trace_.ranks[static_cast<size_t>(rank)].host);
    }
    path.crosses_hosts = hosts.size() > 1;
    const int32_t family = roles_.communicators[static_cast<size_t>(communicator)].family;
    std::map<uint64_t, Transfer> measured;  // by sequence
    for (const auto& [sequence, records] : by_sequence) {
      if (records.size() != path.ranks.size()) continue;
      if (const std::optional<Transfer> transfer = TransferOf(records)) measured[sequence] = *transfer;
    }
    const uint64_t calls = source >= 0 ? 1 : CallsPerStep(measured);
    for (auto& [sequence, transfer] : measured) {
      const TraceOperation& last = trace_.operations[transfer.last_to_arrive.index];
      if (last.bytes != 0 && last.bytes < 1024 * 1024) continue;  // 0 = unknown
      if (last.kind == OperationKind::kAllToAll) path.exchange = true;
      const OperationKind kind = source >= 0 ? OperationKind::kSend : last.kind;
      const uint64_t size_or_place = last.bytes != 0 ? last.bytes : sequence % calls;
      transfer.duty = {family, source >= 0, path.crosses_hosts, kind, size_or_place};
      path.transfers.push_back(transfer);
    }
    if (!path.transfers.empty()) paths_[wire] = std::move(path);
  }

  void FindUsual() {
    std::map<Duty, std::vector<std::vector<double>>> times;  // by path
    for (const auto& [wire, path] : paths_) {
      std::map<Duty, std::vector<double>> own;
      for (const Transfer& transfer : path.transfers) own[transfer.duty].push_back(transfer.seconds);
      for (const auto& [duty, seconds] : own) times[duty].push_back(seconds);
    }
    for (const auto& [duty, by_path] : times) {
      std::vector<double> medians;
      for (const std::vector<double>& seconds : by_path) medians.push_back(SortedAt(seconds, 0.5));
      compared_[duty] = medians.size() > 1;
      usual_[duty] = medians.size() > 1 ? SortedAt(medians, 0.25) : SortedAt(by_path.front(), 0.25);
    }
    CompareAboutEqualSizes();
  }

  // Of one path alone, per byte, with those that lie in the same quarter of an octave.
  void CompareAboutEqualSizes() {
    const auto rounded = [](Duty duty) {
      const double octaves = std::log2(static_cast<double>(std::get<uint64_t>(duty)));
      std::get<uint64_t>(duty) = static_cast<uint64_t>(std::floor(4 * octaves));
      return duty;
    };
    const auto is_one = [this](const Duty& duty) {
      return !compared_.at(duty) && std::get<uint64_t>(duty) >= 1024 * 1024;  // else the place of an unknown size
    };
    std::map<Duty, std::vector<double>> rates;  // by path
    for (const auto& [wire, path] : paths_) {
      std::map<Duty, std::vector<double>> own;
      for (const Transfer& transfer : path.transfers) {
        if (!is_one(transfer.duty)) continue;
        const auto bytes = static_cast<double>(std::get<uint64_t>(transfer.duty));
        own[rounded(transfer.duty)].push_back(transfer.seconds / bytes);
      }
      for (const auto& [duty, of_path] : own) rates[duty].push_back(SortedAt(of_path, 0.5));
    }
    std::vector<Duty> ones;
    for (const auto& [duty, compared] : compared_) {
      if (is_one(duty)) ones.push_back(duty);
    }
    for (const Duty& duty : ones) {
      const std::vector<double>& of_paths = rates.at(rounded(duty));
      if (of_paths.size() < 2) continue;
      usual_[duty] = SortedAt(of_paths, 0.25) * static_cast<double>(std::get<uint64_t>(duty));
      compared_[duty] = true;
    }
  }

  int32_t StepOf(const Record& record) const {
    for (int32_t step = 0; step < steps_.steps; ++step) {
      const StepRange& range = steps_.Of(record.rank, step);
      if (record.index >= range.begin && record.index < range.end) return step;
    }
    return -1;
  }

  // Whether the rank enters anything that it called later while it is inside, but for its group's next collectives,
  // which wait for this one.
  bool Overlapped(const Record& record) const {
    const TraceOperation& operation = trace_.operations[record.index];
    for (size_t i = record.index + 1; i < trace_.first_operation[record.rank + 1]; ++i) {
      const TraceOperation& other = trace_.operations[i];
      const bool waits = other.communicator == operation.communicator && !IsSendOrRecv(other.kind);
      if (!waits && other.started() && other.start_ns > operation.start_ns && other.start_ns < operation.end_ns) {
        return true;
      }
    }
    return false;
  }

  void SumSteps(bool point_to_point, ReferencePath* path) const {
    std::map<int32_t, std::vector<const Transfer*>> of_step;
    for (const Transfer& transfer : path->transfers) {
      if (compared_.at(transfer.duty)) path->alone = false;
      const int32_t step = StepOf(transfer.last_to_arrive);
      if (step >= 0) of_step[step].push_back(&transfer);
    }
    for (const auto& [step, transfers] : of_step) {
      double took = 0, usual = 0, least_slow = std::numeric_limits<double>::infinity();
      path->longer[step] = 0;
      path->excess[step] = 0;
      for (const Transfer* transfer : transfers) {
        const double expected = usual_.at(transfer->duty);
        took += transfer->seconds;
        usual += expected;
        least_slow = std::min(least_slow, transfer->seconds / expected);
        path->longer[step] += transfer->seconds - expected;
        if (!Overlapped(transfer->last_to_arrive)) path->excess[step] += transfer->seconds - expected;
      }
      path->ratio[step] = point_to_point ? least_slow : took / usual;
    }
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  std::map<Wire, std::map<uint64_t, std::vector<Record>>> records_;
  std::map<Wire, ReferencePath> paths_;
  std::map<Duty, bool> compared_;
  std::map<Duty, double> usual_;
};

// What simulated recorders never leave: operations that are still open, times of the host, sizes that are unknown or
// too small to count.
void Roughen(Random& random, Trace* trace) {
  for (TraceOperation& operation : trace->operations) {
    switch (random.Below(300)) {
      case 0:
        operation.end_ns = kNoTime;
        break;
      case 1:
        operation.quality = TimingQuality::kHostCall;
        break;
      case 2:
        operation.quality = TimingQuality::kHostEnqueue;
        break;
      case 3:
        operation.bytes = 0;
        break;
      case 4:
        operation.bytes = (1 << 20) - 1;
        break;
      default:
        break;
    }
  }
}

void ExpectNear(const std::map<int32_t, double>& expected, const std::vector<float>& table, size_t row, size_t steps,
                const char* what) {
  for (size_t step = 0; step < steps; ++step) {
    const auto known = expected.find(static_cast<int32_t>(step));
    const double wanted = known == expected.end() ? kUnknown : known->second;
    const auto measured = static_cast<double>(table[row * steps + step]);
    ASSERT_EQ(std::isnan(measured), std::isnan(wanted)) << what << " of step " << step;
    if (std::isnan(wanted)) continue;
    // The table keeps its times as floats.
    ASSERT_NEAR(measured, wanted, 1e-6 + 1e-5 * std::abs(wanted)) << what << " of step " << step;
  }
}

// A NIC, a GPU's NVLink or the path between two hosts.
std::vector<FaultSpec> SlowNetwork(Random& random, const JobSpec& job) {
  const auto ranks = static_cast<uint64_t>(job.parallelism.gpus());
  FaultSpec fault{.onset_step = 4, .severity = 3};
  fault.kind =
      std::vector<FaultKind>{FaultKind::kNicSendSlow, FaultKind::kNvlinkSlow, FaultKind::kLinkSlow}[random.Below(3)];
  fault.targets = {static_cast<int32_t>(random.Below(ranks))};
  if (fault.kind == FaultKind::kLinkSlow) fault.targets = {0, 1};
  return {fault};
}

TEST(TransferTableTest, AgreesWithTheSlowReferenceOnRandomJobs) {
  size_t sends = 0, groups = 0, exchanges = 0, alone = 0, slow = 0, mixed = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Random random(seed);
    JobSpec job = RandomSmallJob(random);
    job.gpus_per_host = 8;  // so that some groups of a kind lie on one host and others do not
    SimulatedRecording recording = RecordJob(job, SlowNetwork(random, job), true, seed);
    SCOPED_TRACE(recording.Describe());
    Roughen(random, &recording.trace);
    const Trace& trace = recording.trace;
    const OperationInstances matched = MatchOperations(trace);
    const JobRoles roles = InferRoles(trace, matched);
    const StepTable steps = FindSteps(trace, matched, roles);
    const TransferTable table = MeasureTransfers(trace, matched, roles, steps, RanksWithoutBegins(trace, roles));
    const std::map<Wire, ReferencePath> reference = Reference(trace, roles, steps).Run();
    ASSERT_EQ(table.paths.size(), reference.size());
    ASSERT_EQ(table.steps, static_cast<size_t>(steps.steps));
    struct Side {
      std::vector<double> logs, changes, middles;
      double noise = 0;
    };
    std::map<bool, Side> sides_of_hosts;                           // by whether paths leave a host
    std::map<std::pair<int32_t, bool>, std::set<bool>> crossings;  // of the paths of a family
    for (size_t i = 0; i < table.paths.size(); ++i) {
      const TransferPath& path = table.paths[i];
      const OperationChannel& channel = matched.channels[static_cast<size_t>(path.channel)];
      const auto found = reference.find({channel.communicator, channel.source, channel.destination});
      ASSERT_NE(found, reference.end());
      const ReferencePath& expected = found->second;
      EXPECT_EQ(path.ranks, expected.ranks);
      EXPECT_EQ(path.point_to_point, channel.source >= 0);
      EXPECT_EQ(path.exchange, expected.exchange);
      EXPECT_EQ(path.crosses_hosts, expected.crosses_hosts);
      EXPECT_EQ(path.alone, expected.alone);
      ExpectNear(expected.ratio, table.ratio, i, table.steps, "ratio");
      ExpectNear(expected.excess, table.excess_seconds, i, table.steps, "excess");
      ExpectNear(expected.longer, table.longer_seconds, i, table.steps, "longer");
      Side& side = sides_of_hosts[path.crosses_hosts];
      side.noise = path.noise;
      std::vector<double> of_path;
      for (const auto& [step, ratio] : expected.ratio) {
        if (!of_path.empty()) side.changes.push_back(std::log(ratio) - of_path.back());
        of_path.push_back(std::log(ratio));
        slow += ratio > 1.5 ? 1 : 0;
      }
      side.logs.insert(side.logs.end(), of_path.begin(), of_path.end());
      if (!of_path.empty()) side.middles.push_back(SortedAt(of_path, 0.5));
      (path.point_to_point ? sends : groups) += 1;
      const int32_t family = roles.communicators[static_cast<size_t>(channel.communicator)].family;
      crossings[{family, path.point_to_point}].insert(path.crosses_hosts);
      exchanges += path.exchange ? 1 : 0;
      alone += path.alone ? 1 : 0;
    }
    for (const auto& [family, sides] : crossings) mixed += sides.size() > 1 ? 1 : 0;
    for (const auto& [crosses, side] : sides_of_hosts) {
      if (side.changes.empty()) continue;
      const double of_levels = (SortedAt(side.middles, 0.25) - SortedAt(side.middles, 0.125)) / 0.476;
      const double of_steps = DeviationOf(side.changes) / std::sqrt(2.0);
      EXPECT_NEAR(side.noise, std::min(DeviationOf(side.logs), std::hypot(of_steps, of_levels)), 1e-6) << crosses;
    }
  }
  // Every kind of path has been compared, slow ones among them.
  EXPECT_GT(sends, 100u);
  EXPECT_GT(groups, 100u);
  EXPECT_GT(exchanges, 20u);
  EXPECT_GT(alone, 0u);
  EXPECT_GT(mixed, 0u) << "families with paths on one host and others between hosts";
  EXPECT_GT(slow, 50u);
}

}  // namespace
}  // namespace lockstep
