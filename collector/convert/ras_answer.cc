#include "collector/convert/ras_answer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/convert/check_name.h"
#include "collector/convert/operation_columns.h"
#include "collector/convert/report_limits.h"

namespace lockstep {
namespace {

absl::Status CheckFinding(const wire::NcclRasCommunicator& finding) {
  if (finding.size() < 0 || finding.size() > kMaxRanks) {
    return absl::InvalidArgumentError(absl::StrCat("nccl_ras.findings.size: ", finding.size()));
  }
  for (const wire::NcclRasMissingRank& missing : finding.missing()) {
    RETURN_IF_ERROR(CheckName("nccl_ras.findings.missing.host", missing.host(), kMaxHostBytes));
  }
  return absl::OkStatus();
}

RasClaimKind KindOf(const wire::NcclRasMissingRank& missing) {
  if (missing.considered_dead()) return RasClaimKind::kDead;
  return missing.unresponsive() ? RasClaimKind::kUnresponsive : RasClaimKind::kMissing;
}

void Add(RasClaim claim, RasStatement& to, ConvertLosses& losses) {
  if (claim.rank < 0 || claim.rank >= claim.size) {
    ++losses.odd_ras_claims;
  } else {
    to.claims.push_back(std::move(claim));
  }
}

void Append(const wire::NcclRasCommunicator& finding, RasStatement& to, ConvertLosses& losses) {
  const RasClaim any = {.communicator = finding.id(), .size = finding.size()};
  for (const wire::NcclRasMissingRank& missing : finding.missing()) {
    RasClaim claim = any;
    claim.kind = KindOf(missing);
    claim.rank = missing.rank();
    claim.host = missing.host();
    claim.pid = std::max(missing.pid(), 0);
    Add(std::move(claim), to, losses);
  }
  for (const wire::NcclRasMismatch& mismatch : finding.mismatches()) {
    for (const int32_t rank : mismatch.first_behind()) {
      RasClaim claim = any;
      claim.kind = RasClaimKind::kBehind;
      claim.operation = ToOperationKind(static_cast<uint32_t>(mismatch.kind()), losses);
      claim.rank = rank;
      claim.highest = mismatch.highest();
      claim.lowest = mismatch.lowest();
      claim.ranks_behind = mismatch.ranks_behind();
      Add(std::move(claim), to, losses);
    }
  }
  for (const wire::NcclRasRankError& error : finding.errors()) {
    RasClaim claim = any;
    claim.kind = RasClaimKind::kError;
    claim.rank = error.rank();
    Add(std::move(claim), to, losses);
  }
  to.left_out += finding.missing_left_out() + finding.errors_left_out();
}

}  // namespace

absl::Status CheckRas(const wire::NcclRasReport& from) {
  RETURN_IF_ERROR(CheckName("nccl_ras.nccl_version", from.nccl_version(), kMaxNameBytes));
  if (from.findings_size() > kMaxRasFindingsPerReport) {
    return absl::InvalidArgumentError(absl::StrCat("nccl_ras.findings: ", from.findings_size(), " entries, at most ",
                                                   kMaxRasFindingsPerReport, " are allowed"));
  }
  for (const wire::NcclRasCommunicator& finding : from.findings()) RETURN_IF_ERROR(CheckFinding(finding));
  return absl::OkStatus();
}

RasStatement ToRasStatement(const wire::NcclRasReport& from, ConvertLosses& losses) {
  RasStatement to;
  to.asked_host_ns = std::clamp<int64_t>(from.asked_monotonic_ns(), 0, kMaxMonotonicNanos);
  to.communicators = from.communicators();
  to.left_out = from.findings_left_out();
  for (const wire::NcclRasCommunicator& finding : from.findings()) Append(finding, to, losses);
  return to;
}

}  // namespace lockstep
