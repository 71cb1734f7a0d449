#include "collector/incident/ledger_share.h"

#include <optional>

#include "absl/strings/string_view.h"
#include "detector/verdict/ledger_line.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

// The beginning of the keys of all causes that may be seen as this class; "" = no class of the detector.
std::string FamilyOf(absl::string_view verdict_class) {
  const std::optional<VerdictClass> known = ClassOf(verdict_class);
  return known.has_value() ? CauseKey(Verdict::Observation(*known)) : "";
}

bool MaySeeTheSame(absl::string_view verdict_class, absl::string_view other) {
  const std::string family = FamilyOf(verdict_class);
  return verdict_class == other || (!family.empty() && family == FamilyOf(other));
}

}  // namespace

std::string FindingOf(const wire::Verdict& verdict) {
  if (verdict.culprits().empty()) return FindingName(verdict.class_(), nullptr);
  const wire::Culprit& first = verdict.culprits(0);
  const Culprit culprit = {.host = first.host(), .rank = first.rank(), .peer_host = first.peer_host()};
  return FindingName(verdict.class_(), &culprit);
}

bool TakeLedgerShare(const SeenLedger& ledger, wire::Incident& incident) {
  if (ledger.ledger.empty()) return false;
  const std::string& verdict_class = incident.verdict().class_();
  const std::string finding = FindingOf(incident.verdict());
  const absl::string_view named = absl::string_view(finding).substr(verdict_class.size());
  bool has_line = false;
  double seconds = 0;
  for (const LedgerLine& line : ledger.ledger.lines) {
    const absl::string_view text = line.finding;
    const absl::string_view line_class = text.substr(0, text.find(' '));
    if (text.substr(line_class.size()) != named || !MaySeeTheSame(line_class, verdict_class)) continue;
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
