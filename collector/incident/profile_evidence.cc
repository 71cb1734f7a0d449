#include "collector/incident/profile_evidence.h"

#include <algorithm>

namespace lockstep {
namespace {

bool IsOfProfile(const wire::Evidence& evidence) { return evidence.kind() == kProfileEvidence; }

bool IsAbout(const wire::Verdict& verdict, const wire::Culprit& culprit) {
  const auto& named = verdict.culprits();
  return std::any_of(named.begin(), named.end(), [&](const wire::Culprit& one) {
    return one.rank() >= 0 ? one.rank() == culprit.rank() : !one.host().empty() && one.host() == culprit.host();
  });
}

}  // namespace

bool RestsOnProfiles(const wire::Incident& incident) {
  const auto& evidence = incident.verdict().evidence();
  return !evidence.empty() && std::all_of(evidence.begin(), evidence.end(), IsOfProfile);
}

void BecomeProfileEvidence(wire::Verdict& verdict) {
  for (wire::Evidence& evidence : *verdict.mutable_evidence()) evidence.set_kind(kProfileEvidence);
}

void CopyProfileEvidence(const wire::Verdict& from, wire::Verdict& to) {
  const auto& there = to.evidence();
  auto count = std::count_if(there.begin(), there.end(), IsOfProfile);
  for (const wire::Evidence& evidence : from.evidence()) {
    if (!IsOfProfile(evidence) || count >= kMaxProfileEvidence) continue;
    *to.add_evidence() = evidence;
    ++count;
  }
}

bool DropProfileEvidence(wire::Verdict& verdict) {
  auto& evidence = *verdict.mutable_evidence();
  const auto from = std::stable_partition(evidence.begin(), evidence.end(),
                                          [](const wire::Evidence& one) { return !IsOfProfile(one); });
  const bool any = from != evidence.end();
  evidence.erase(from, evidence.end());
  return any;
}

bool Covers(const wire::Verdict& known, const wire::Verdict& found) {
  const auto& culprits = found.culprits();
  return !culprits.empty() &&
         std::all_of(culprits.begin(), culprits.end(), [&](const wire::Culprit& one) { return IsAbout(known, one); });
}

bool WasProfiled(const JobProfile& profile, const wire::Verdict& verdict) {
  const auto& culprits = verdict.culprits();
  return !profile.ranks.empty() && std::all_of(culprits.begin(), culprits.end(), [&](const wire::Culprit& culprit) {
    return culprit.rank() >= 0 && profile.ranks.count(culprit.rank()) > 0;
  });
}

}  // namespace lockstep
