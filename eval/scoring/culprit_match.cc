#include "eval/scoring/culprit_match.h"

#include <algorithm>

#include "sim/fault_spec.h"

namespace lockstep {
namespace {

bool SameLink(const Culprit& a, const Culprit& b) {
  return (a.host == b.host && a.peer_host == b.peer_host) || (a.host == b.peer_host && a.peer_host == b.host);
}

// Those that wait in a stuck transfer may be listed one by one.
bool IsEndOfStuckTransfer(const Culprit& answer, const Culprit& culprit, const TrueCause& cause) {
  return cause.kind == FaultKind::kTransferStuck && answer.peer_host.empty() &&
         (answer.host == culprit.host || answer.host == culprit.peer_host);
}

bool SameWhereGiven(const Culprit& answer, const Culprit& culprit) {
  const bool rank = answer.rank < 0 || culprit.rank < 0 || answer.rank == culprit.rank;
  return rank && (answer.device.empty() || culprit.device.empty() || answer.device == culprit.device);
}

// Of a verdict that names nobody because too many could be to blame: whether its paths are the culprits'.
bool TellsTheGroup(const Verdict& verdict, const TrueCause& cause) {
  const auto* const transfers = FindReason<SlowPathTransfers>(verdict);
  if (transfers == nullptr) return false;
  const PathPlace& place = transfers->place;
  return std::all_of(cause.culprits.begin(), cause.culprits.end(), [&place](const Culprit& culprit) {
    return std::find(place.ranks.begin(), place.ranks.end(), culprit.rank) != place.ranks.end() ||
           std::find(place.hosts.begin(), place.hosts.end(), culprit.host) != place.hosts.end();
  });
}

}  // namespace

bool NamesExactly(const Culprit& answer, const Culprit& culprit, const TrueCause& cause) {
  if (!culprit.peer_host.empty()) return SameLink(answer, culprit) || IsEndOfStuckTransfer(answer, culprit, cause);
  if (answer.host != culprit.host) return false;
  if (culprit.rank < 0) return true;
  return InfoOf(cause.kind).target == TargetKind::kNic ? SameWhereGiven(answer, culprit) : answer.rank == culprit.rank;
}

bool NamesHost(const Culprit& answer, const Culprit& culprit) {
  if (answer.host.empty()) return false;
  return answer.host == culprit.host || answer.host == culprit.peer_host;
}

bool NamesAnyExactly(const Culprit& answer, const TrueCause& cause) {
  return std::any_of(cause.culprits.begin(), cause.culprits.end(),
                     [&](const Culprit& culprit) { return NamesExactly(answer, culprit, cause); });
}

bool NamesAnyHost(const Culprit& answer, const TrueCause& cause) {
  return std::any_of(cause.culprits.begin(), cause.culprits.end(),
                     [&](const Culprit& culprit) { return NamesHost(answer, culprit); });
}

bool NamesTheGroup(const Verdict& verdict, const TrueCause& cause) {
  const bool group_class = verdict.verdict_class == VerdictClass::kGroupSlow ||
                           verdict.verdict_class == VerdictClass::kLinkSlow ||
                           verdict.verdict_class == VerdictClass::kHangInCommunication;
  if (cause.indistinguishable_hosts.empty() || verdict.scope != VerdictScope::kNetwork || !group_class) return false;
  if (verdict.culprits.empty()) return TellsTheGroup(verdict, cause);
  const auto listed = [&](const std::string& host) {
    return host.empty() || std::any_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& culprit) {
             return culprit.host == host || culprit.peer_host == host;
           });
  };
  return std::all_of(cause.culprits.begin(), cause.culprits.end(),
                     [&](const Culprit& c) { return listed(c.host) && listed(c.peer_host); }) &&
         std::none_of(verdict.culprits.begin(), verdict.culprits.end(),
                      [&](const Culprit& culprit) { return IsInnocent(culprit.host, cause); });
}

bool IsInnocent(absl::string_view host, const TrueCause& cause) {
  const bool culprit = std::any_of(cause.culprits.begin(), cause.culprits.end(),
                                   [&](const Culprit& c) { return c.host == host || c.peer_host == host; });
  const bool in_group = std::find(cause.indistinguishable_hosts.begin(), cause.indistinguishable_hosts.end(), host) !=
                        cause.indistinguishable_hosts.end();
  return !culprit && !in_group;
}

}  // namespace lockstep
