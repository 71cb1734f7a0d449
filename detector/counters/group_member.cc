#include "detector/counters/group_member.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "detector/verdict/confidence.h"

namespace lockstep {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
// Between the onset that the records tell and that of the counters, of which some are read every 15 s.
constexpr int64_t kMostApartMs = 60'000;

// What is there from the start shows from the second step on at the latest: recordings begin inside of one.
constexpr int64_t kFirstKnownSteps = 2;

bool IsGroup(const Verdict& verdict, const std::set<std::string>& hosts) {
  const bool may_be_one =
      verdict.verdict_class == VerdictClass::kGroupSlow || verdict.verdict_class == VerdictClass::kLinkSlow;
  return verdict.scope == VerdictScope::kNetwork && may_be_one && hosts.size() != 1;
}

bool BeganTogether(const Verdict& verdict, const MemberSign& sign, const CounterSpan& span) {
  const int64_t onset_ms = verdict.first_seen_ns / kNanosPerMilli;
  const bool is_on_one_clock = onset_ms >= span.begin_ms && onset_ms <= span.end_ms;
  if (is_on_one_clock) return std::abs(onset_ms - sign.onset_ms) <= kMostApartMs;
  if (verdict.first_step < 0) return true;
  const int64_t since_begin_ms = sign.onset_ms - span.begin_ms;
  return verdict.first_step < kFirstKnownSteps ? since_begin_ms <= kMostApartMs : since_begin_ms > 0;
}

// The only machine among `hosts` with signs, as its first sign; nullptr = none or several. No hosts = all are meant.
const MemberSign* OnlyMember(absl::Span<const MemberSign> signs, const CounterSpan& span, const Verdict& verdict,
                             const std::set<std::string>& hosts) {
  const MemberSign* only = nullptr;
  for (const MemberSign& sign : signs) {
    if ((!hosts.empty() && !hosts.contains(sign.host)) || !BeganTogether(verdict, sign, span)) continue;
    if (only == nullptr) {
      only = &sign;
    } else if (only->host != sign.host) {
      return nullptr;
    }
  }
  return only;
}

void Narrow(const MemberSign& member, size_t hosts, Verdict* verdict) {
  verdict->verdict_class = member.verdict_class;
  verdict->culprits = {{.host = member.host, .device = member.device, .confidence = kLikelyConfidence}};
  verdict->evidence.push_back({EvidenceKind::kCounter, OnlyMemberStandsOut{.hosts = hosts, .host = member.host}});
}

}  // namespace

void NarrowGroups(absl::Span<const MemberSign> signs, const CounterSpan& span, std::vector<Verdict>* verdicts) {
  for (Verdict& verdict : *verdicts) {
    std::set<std::string> hosts;
    for (const Culprit& culprit : verdict.culprits) {
      hosts.insert(culprit.host);
      if (!culprit.peer_host.empty()) hosts.insert(culprit.peer_host);
    }
    if (!IsGroup(verdict, hosts)) continue;
    const MemberSign* const member = OnlyMember(signs, span, verdict, hosts);
    if (member != nullptr) Narrow(*member, hosts.size(), &verdict);
  }
}

void NarrowedGroups::Apply(absl::Span<const MemberSign> signs, const CounterSpan& span,
                           std::vector<Verdict>* verdicts) {
  std::vector<std::string> groups;
  for (const Verdict& verdict : *verdicts) groups.push_back(CauseKey(verdict));
  NarrowGroups(signs, span, verdicts);
  std::map<std::string, Verdict> told;
  for (size_t i = 0; i < groups.size(); ++i) {
    Verdict& verdict = (*verdicts)[i];
    const auto known = told_.find(groups[i]);
    if (CauseKey(verdict) == groups[i] && known == told_.end()) continue;
    if (known != told_.end()) {
      verdict.verdict_class = known->second.verdict_class;
      verdict.culprits = known->second.culprits;
    }
    told.emplace(groups[i], verdict);
  }
  told_ = std::move(told);
}

}  // namespace lockstep
