#include "detector/network/delay_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// Of a flow, in either half: their mean is known to a third.
constexpr uint64_t kMinChunks = 8;
// Of fewer, the lower quartile is the least.
constexpr size_t kMinFamilyFlows = 3;
// In all. By judgement, not measured.
constexpr size_t kMinFlows = 4;
// As slow_paths.h.
constexpr double kMinRatio = 1 + kMinorPart;
constexpr double kTimeDeviations = kSureDeviations;
// Of flows by nature: one in 700 of a normal, beside both other limits.
constexpr double kSpreadDeviations = 3;
// Holds while fewer than three quarters are slow.
constexpr double kUsualQuantile = kMinorPart;
// By judgement, not measured.
constexpr double kMinLateRatio = 2;
// Of the ranks; more are no outliers.
constexpr double kMostLate = kMinorPart;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinSeconds = 1e-12;  // of a usual delay, so that ratios exist

using ByHalf = std::array<double, 2>;

// Per unit, in both halves.
ByHalf DelaysOf(const TransferFlow& flow, bool by_bytes) {
  ByHalf delays;
  for (size_t half = 0; half < 2; ++half) {
    const FlowWaits& waits = flow.halves[half];
    const auto chunks = static_cast<double>(waits.chunks);
    const double drain_per_chunk =
        waits.received_chunks == 0 ? 0 : waits.drain_seconds / static_cast<double>(waits.received_chunks);
    const double of_network = std::max(0.0, waits.credit_seconds - drain_per_chunk * chunks) + waits.wire_seconds;
    delays[half] = of_network / (by_bytes ? static_cast<double>(waits.bytes) : chunks);
  }
  return delays;
}

ByHalf DrainsOf(const TransferFlow& flow) {
  ByHalf drains;
  for (size_t half = 0; half < 2; ++half) {
    const FlowWaits& waits = flow.halves[half];
    drains[half] = waits.drain_seconds / static_cast<double>(waits.received_chunks);
  }
  return drains;
}

// Flow indices by (family, whether they leave their host), those with enough chunks.
std::map<std::pair<int32_t, bool>, std::vector<size_t>> Families(const std::vector<TransferFlow>& flows,
                                                                 const std::vector<int32_t>& host_of) {
  std::map<std::pair<int32_t, bool>, std::vector<size_t>> families;
  for (size_t i = 0; i < flows.size(); ++i) {
    const TransferFlow& flow = flows[i];
    if (flow.halves[0].chunks < kMinChunks || flow.halves[1].chunks < kMinChunks) continue;
    const bool crosses = host_of[static_cast<size_t>(flow.source)] != host_of[static_cast<size_t>(flow.destination)];
    families[{flow.family, crosses}].push_back(i);
  }
  return families;
}

double UsualOf(const std::vector<ByHalf>& values, size_t half) {
  std::vector<double> of_half;
  for (const ByHalf& value : values) of_half.push_back(value[half]);
  return std::max(Quantile(std::move(of_half), kUsualQuantile), kMinSeconds);
}

// Log ratios in both halves of what could be compared, and what they are compared with.
struct Compared {
  size_t flow = 0;
  ByHalf usual = {};
  ByHalf log_ratio = {};
};

// Deviation of one half's answer from the other's.
double NoiseOf(const std::vector<Compared>& all) {
  std::vector<double> differences;
  for (const Compared& one : all) differences.push_back(one.log_ratio[0] - one.log_ratio[1]);
  return RobustDeviation(differences) / std::sqrt(2.0);
}

double SpreadOf(const std::vector<Compared>& all) {
  std::vector<double> means;
  for (const Compared& one : all) means.push_back((one.log_ratio[0] + one.log_ratio[1]) / 2);
  return RobustDeviation(means);
}

double LimitOf(const std::vector<Compared>& all, double min_ratio) {
  return std::max({std::log(min_ratio), kTimeDeviations * NoiseOf(all), kSpreadDeviations * SpreadOf(all)});
}

double Smaller(const Compared& one) { return std::min(one.log_ratio[0], one.log_ratio[1]); }

// Values of both halves of the flows `members`, as ratios to their usual ones.
void Compare(const std::vector<size_t>& members, const std::vector<ByHalf>& values, std::vector<Compared>* all) {
  const ByHalf usual = {UsualOf(values, 0), UsualOf(values, 1)};
  for (size_t m = 0; m < members.size(); ++m) {
    Compared& one = all->emplace_back(Compared{.flow = members[m], .usual = usual});
    for (size_t half = 0; half < 2; ++half) {
      one.log_ratio[half] = std::log(std::max(values[m][half], kMinSeconds) / usual[half]);
    }
  }
}

class Judge {
 public:
  Judge(const std::vector<TransferFlow>& flows, const std::vector<int32_t>& host_of)
      : flows_(flows), host_of_(host_of), families_(Families(flows, host_of)) {}

  DelayJudgement Run() {
    judgement_.ratio.assign(flows_.size(), kNone);
    judgement_.excess_seconds.assign(flows_.size(), 0);
    judgement_.slow.assign(flows_.size(), false);
    const std::vector<Compared> delays = CompareDelays();
    judgement_.flows = delays.size();
    if (delays.size() < kMinFlows) {
      judgement_.why = absl::StrFormat("Of %d watched flows only %d have enough chunks and their like to compare with.",
                                       flows_.size(), delays.size());
      return std::move(judgement_);
    }
    const double limit = LimitOf(delays, kMinRatio);
    judgement_.limit = std::exp(limit);
    for (const Compared& one : delays) {
      judgement_.ratio[one.flow] = std::exp(Smaller(one));
      judgement_.slow[one.flow] = Smaller(one) >= limit;
    }
    if (std::find(judgement_.slow.begin(), judgement_.slow.end(), true) != judgement_.slow.end()) {
      judgement_.kind = DelayJudgement::Kind::kNetwork;
      judgement_.causes = Vote(delays);
    } else {
      judgement_.late = FindLateRanks();
      judgement_.kind = judgement_.late.empty() ? DelayJudgement::Kind::kClear : DelayJudgement::Kind::kOwnGpu;
    }
    return std::move(judgement_);
  }

 private:
  std::vector<Compared> CompareDelays() {
    std::vector<Compared> all;
    for (const auto& [key, members] : families_) {
      if (members.size() < kMinFamilyFlows) continue;
      const bool by_bytes = std::all_of(members.begin(), members.end(), [&](size_t i) {
        return flows_[i].halves[0].bytes > 0 && flows_[i].halves[1].bytes > 0;
      });
      std::vector<ByHalf> delays;
      for (const size_t i : members) delays.push_back(DelaysOf(flows_[i], by_bytes));
      const size_t first = all.size();
      Compare(members, delays, &all);
      for (size_t m = 0; m < members.size(); ++m) {
        for (size_t half = 0; half < 2; ++half) {
          const FlowWaits& waits = flows_[members[m]].halves[half];
          const auto units = static_cast<double>(by_bytes ? waits.bytes : waits.chunks);
          judgement_.excess_seconds[members[m]] += std::max(0.0, delays[m][half] - all[first + m].usual[half]) * units;
        }
      }
    }
    return all;
  }

  std::vector<PathCause> Vote(const std::vector<Compared>& delays) const {
    std::vector<VotePath> paths;
    for (const Compared& one : delays) {
      paths.push_back({.ranks = {flows_[one.flow].source, flows_[one.flow].destination},
                       .point_to_point = true,
                       .slow = judgement_.slow[one.flow]});
    }
    std::vector<PathCause> causes = VoteOnPaths(paths, host_of_);
    for (PathCause& cause : causes) {
      for (int32_t& path : cause.paths) path = static_cast<int32_t>(delays[static_cast<size_t>(path)].flow);
    }
    return causes;
  }

  std::vector<LateRank> FindLateRanks() const {
    std::vector<Compared> all;
    for (const auto& [key, members] : families_) {
      std::vector<size_t> watched;
      std::vector<ByHalf> drains;
      for (const size_t i : members) {
        if (flows_[i].halves[0].received_chunks < kMinChunks || flows_[i].halves[1].received_chunks < kMinChunks) {
          continue;
        }
        watched.push_back(i);
        drains.push_back(DrainsOf(flows_[i]));
      }
      if (watched.size() >= kMinFamilyFlows) Compare(watched, drains, &all);
    }
    return all.size() < kMinFlows ? std::vector<LateRank>() : Latest(all, LimitOf(all, kMinLateRatio));
  }

  std::vector<LateRank> Latest(const std::vector<Compared>& all, double limit) const {
    std::map<int32_t, LateRank> by_rank;
    for (const Compared& one : all) {
      const TransferFlow& flow = flows_[one.flow];
      LateRank& worst = by_rank.emplace(flow.destination, LateRank{}).first->second;
      const double ratio = std::exp(Smaller(one));
      if (Smaller(one) < limit || ratio <= worst.ratio) continue;
      worst = {.rank = flow.destination, .ratio = ratio};
      for (size_t half = 0; half < 2; ++half) {
        worst.excess_seconds +=
            std::max(0.0, flow.halves[half].drain_seconds -
                              one.usual[half] * static_cast<double>(flow.halves[half].received_chunks));
      }
    }
    std::vector<LateRank> late;
    for (const auto& [rank, worst] : by_rank) {
      if (worst.rank >= 0) late.push_back(worst);
    }
    if (static_cast<double>(late.size()) > kMostLate * static_cast<double>(by_rank.size())) return {};
    std::stable_sort(late.begin(), late.end(), [](const LateRank& a, const LateRank& b) { return a.ratio > b.ratio; });
    return late;
  }

  const std::vector<TransferFlow>& flows_;
  const std::vector<int32_t>& host_of_;
  const std::map<std::pair<int32_t, bool>, std::vector<size_t>> families_;
  DelayJudgement judgement_;
};

}  // namespace

DelayJudgement JudgeDelays(const std::vector<TransferFlow>& flows, const std::vector<int32_t>& host_of) {
  return Judge(flows, host_of).Run();
}

}  // namespace lockstep
