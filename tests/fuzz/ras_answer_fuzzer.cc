// Whatever listens on the port of NCCL's RAS service may answer anything.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/sources/ras/ras_answer.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<lockstep::RasAnswer> answer = lockstep::ParseRasAnswer(input);
  if (!answer.ok()) return 0;
  const lockstep::wire::NcclRasReport& report = answer->report;
  CHECK(report.findings_size() <= lockstep::kMaxRasFindings);
  CHECK(report.findings_size() + report.findings_left_out() <= report.communicators());
  CHECK(answer->dead_ranks <= answer->missing_ranks);
  for (const lockstep::wire::NcclRasCommunicator& finding : report.findings()) {
    CHECK(finding.missing_size() + finding.mismatches_size() + finding.errors_size() > 0);
    CHECK(finding.missing_size() <= lockstep::kMaxRasRanksNamed);
    CHECK(finding.errors_size() <= lockstep::kMaxRasRanksNamed);
    for (const lockstep::wire::NcclRasMismatch& mismatch : finding.mismatches()) {
      CHECK(mismatch.lowest() < mismatch.highest());
      CHECK(mismatch.ranks_behind() > 0);
    }
  }
  // A repaired text needs no repair.
  const std::string repaired = lockstep::WithMissingCommas(input);
  CHECK(lockstep::WithMissingCommas(repaired) == repaired);
  return 0;
}
