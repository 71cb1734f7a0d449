#include "agent/sources/ras/ras_findings.h"

#include <algorithm>

#include "agent/sources/ras/ras_answer.h"

namespace lockstep {
namespace {

struct CountedKind {
  absl::string_view name;
  wire::OperationKind kind;
};
constexpr CountedKind kCountedKinds[RasCommunicator::kKinds] = {
    {"Broadcast", wire::OPERATION_KIND_BROADCAST},  {"Reduce", wire::OPERATION_KIND_REDUCE},
    {"AllGather", wire::OPERATION_KIND_ALL_GATHER}, {"ReduceScatter", wire::OPERATION_KIND_REDUCE_SCATTER},
    {"AllReduce", wire::OPERATION_KIND_ALL_REDUCE},
};

void AddMismatches(const RasCommunicator& communicator, wire::NcclRasCommunicator& finding) {
  for (size_t kind = 0; kind < RasCommunicator::kKinds; ++kind) {
    const auto& launched = communicator.launched[kind];
    if (launched.empty()) continue;
    const auto [least, most] = std::minmax_element(launched.begin(), launched.end(),
                                                   [](const auto& a, const auto& b) { return a.second < b.second; });
    const uint64_t highest = most->second;
    if (least->second == highest) continue;
    wire::NcclRasMismatch& mismatch = *finding.add_mismatches();
    mismatch.set_kind(kCountedKinds[kind].kind);
    mismatch.set_highest(highest);
    mismatch.set_lowest(least->second);
    std::vector<int32_t> behind;
    for (const auto& [rank, count] : launched) {
      if (count < highest) behind.push_back(rank);
    }
    std::sort(behind.begin(), behind.end());
    mismatch.set_ranks_behind(static_cast<uint32_t>(behind.size()));
    const size_t named = std::min<size_t>(behind.size(), kMaxRasRanksNamed);
    mismatch.mutable_first_behind()->Add(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(named));
  }
}

void AddErrors(const RasCommunicator& communicator, wire::NcclRasCommunicator& finding) {
  for (const RasMember& member : communicator.members) {
    if (member.async_error == 0 && !member.aborted) continue;
    if (finding.errors_size() == kMaxRasRanksNamed) {
      finding.set_errors_left_out(finding.errors_left_out() + 1);
      continue;
    }
    wire::NcclRasRankError& error = *finding.add_errors();
    error.set_rank(member.rank);
    error.set_async_error(member.async_error);
    error.set_aborted(member.aborted);
  }
}

bool IsFinding(const wire::NcclRasCommunicator& finding) {
  return finding.missing_size() > 0 || finding.mismatches_size() > 0 || finding.errors_size() > 0;
}

// The host of rank 0, which may be missing.
const std::string* HostOfRank0(const RasCommunicator& communicator) {
  for (const RasMember& member : communicator.members) {
    if (member.rank == 0) return &member.host;
  }
  for (const RasMissingMember& member : communicator.missing) {
    if (member.rank == 0) return &member.host;
  }
  return nullptr;
}

}  // namespace

void RasCommunicator::AddCount(absl::string_view name, int32_t rank, uint64_t operations) {
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (kCountedKinds[kind].name == name) launched[kind].emplace_back(rank, operations);
  }
}

void RasSummary::Add(RasCommunicator communicator) {
  report_.set_communicators(report_.communicators() + 1);
  LookForLeader(communicator);
  wire::NcclRasCommunicator finding;
  finding.set_id(communicator.id);
  finding.set_size(communicator.size);
  AddMissing(communicator, finding);
  AddMismatches(communicator, finding);
  AddErrors(communicator, finding);
  if (finding.mismatches_size() > 0) ++unequal_communicators_;
  if (!IsFinding(finding)) return;
  if (report_.findings_size() == kMaxRasFindings) {
    report_.set_findings_left_out(report_.findings_left_out() + 1);
    return;
  }
  *report_.add_findings() = std::move(finding);
}

void RasSummary::AddMissing(const RasCommunicator& communicator, wire::NcclRasCommunicator& finding) {
  missing_ranks_ += communicator.missing.size();
  for (const RasMissingMember& member : communicator.missing) {
    if (member.considered_dead) ++dead_ranks_;
    if (finding.missing_size() == kMaxRasRanksNamed) {
      finding.set_missing_left_out(finding.missing_left_out() + 1);
      continue;
    }
    wire::NcclRasMissingRank& missing = *finding.add_missing();
    missing.set_rank(member.rank);
    missing.set_host(member.host);
    missing.set_pid(member.pid);
    missing.set_unresponsive(member.unresponsive);
    missing.set_considered_dead(member.considered_dead);
  }
}

void RasSummary::LookForLeader(const RasCommunicator& communicator) {
  const std::string* const host = HostOfRank0(communicator);
  if (host == nullptr) return;
  const bool is_larger = communicator.size > leader_size_;
  if (!is_larger && (communicator.size < leader_size_ || communicator.id >= leader_id_)) return;
  leader_size_ = communicator.size;
  leader_id_ = communicator.id;
  leader_host_ = *host;
}

void RasSummary::MoveInto(RasAnswer& answer) {
  answer.report.set_communicators(report_.communicators());
  answer.report.set_findings_left_out(report_.findings_left_out());
  answer.report.mutable_findings()->Swap(report_.mutable_findings());
  answer.missing_ranks = missing_ranks_;
  answer.dead_ranks = dead_ranks_;
  answer.unequal_communicators = unequal_communicators_;
  answer.leader_host = std::move(leader_host_);
}

}  // namespace lockstep
