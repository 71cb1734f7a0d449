#include "detector/verdict/ledger_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {

std::string FindingName(absl::string_view verdict_class, const Culprit* first) {
  std::string name(verdict_class);
  if (first == nullptr) return name;
  if (first->rank >= 0) absl::StrAppend(&name, " rank ", first->rank);
  if (!first->host.empty()) absl::StrAppend(&name, " ", first->host);
  if (!first->peer_host.empty()) absl::StrAppend(&name, " - ", first->peer_host);
  return name;
}

std::string FindingName(const Verdict& verdict) {
  return FindingName(Name(verdict.verdict_class), verdict.culprits.empty() ? nullptr : &verdict.culprits.front());
}

void Explain(const std::string& finding, double share, TimeLedger& ledger) {
  const double seconds = std::min(share * ledger.measured_seconds, ledger.unexplained_seconds);
  if (ledger.empty() || seconds <= 0) return;
  ledger.lines.push_back({finding, seconds});
  ledger.unexplained_seconds -= seconds;
}

}  // namespace lockstep
