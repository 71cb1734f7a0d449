#include "collector/incident/ledger_share.h"

#include "detector/verdict/ledger_line.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

std::string FindingOf(const wire::Verdict& verdict) {
  if (verdict.culprits().empty()) return FindingName(verdict.class_(), nullptr);
  const wire::Culprit& first = verdict.culprits(0);
  const Culprit culprit = {.host = first.host(), .rank = first.rank(), .peer_host = first.peer_host()};
  return FindingName(verdict.class_(), &culprit);
}

bool TakeLedgerShare(const SeenLedger& ledger, wire::Incident& incident) {
  if (ledger.ledger.empty()) return false;
  const std::string finding = FindingOf(incident.verdict());
  bool has_line = false;
  double seconds = 0;
  for (const LedgerLine& line : ledger.ledger.lines) {
    if (line.finding != finding) continue;
    has_line = true;
    seconds += line.seconds;
  }
  if (!has_line) return false;
  const bool is_first = !incident.has_ledger_share();
  wire::LedgerShare& share = *incident.mutable_ledger_share();
  share.set_seconds(seconds);
  share.set_measured_seconds(ledger.ledger.measured_seconds);
  share.set_reference_seconds(ledger.ledger.reference_seconds);
  share.set_unexplained_seconds(ledger.ledger.unexplained_seconds);
  share.set_seen_wall_ns(ledger.seen_ns);
  return is_first;
}

}  // namespace lockstep
