#include "detector/hang/cause_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "detector/verdict/many_named.h"

namespace lockstep {
namespace {

// By judgement, not measured.
constexpr size_t kCauseShare = 20;
constexpr size_t kSomeHosts = 8;

bool IsOperation(const Hang& hang) { return hang.kind == HangKind::kTransfer || hang.kind == HangKind::kDeadlock; }

std::set<int32_t> HostsOf(const Trace& trace, const Hang& hang) {
  std::set<int32_t> hosts;
  for (const int32_t rank : hang.ranks) hosts.insert(trace.ranks[static_cast<size_t>(rank)].host);
  return hosts;
}

}  // namespace

bool CausesAreFew(const Trace& trace, absl::Span<const Hang> hangs) {
  std::map<int32_t, size_t> causes, ranks;  // by host
  for (const TraceRank& rank : trace.ranks) ++ranks[rank.host];
  int32_t operations = 0;  // that are causes
  for (const Hang& hang : hangs) {
    if (IsOperation(hang)) ++operations;
    if (hang.kind != HangKind::kNotEntered && hang.kind != HangKind::kNotFinished) continue;
    for (const int32_t rank : hang.ranks) ++causes[trace.ranks[static_cast<size_t>(rank)].host];
  }
  size_t places = 0, whole_hosts = 0;
  for (const auto& [host, count] : causes) {
    const bool whole = count > 1 && count == ranks[host];
    whole_hosts += whole ? 1 : 0;
    places += whole ? 1 : count;
  }
  const size_t hosts = trace.hosts.size();
  const size_t few = std::max<size_t>(hosts >= kSomeHosts ? 2 : 1, hosts / kCauseShare);
  return places <= few && whole_hosts <= std::max<size_t>(1, hosts / kCauseShare) && operations <= 1;
}

bool CausesAreMany(const Trace& trace, absl::Span<const Hang> hangs) {
  std::map<int32_t, size_t> causes;  // by host
  for (const Hang& hang : hangs) {
    for (const int32_t host : HostsOf(trace, hang)) ++causes[host];
  }
  const size_t all = hangs.size();
  const bool shared = std::any_of(causes.begin(), causes.end(), [all](const auto& c) { return c.second == all; });
  return all > 1 && !shared && !CausesAreFew(trace, hangs);
}

bool IsOfManyHosts(const Trace& trace, const Hang& hang) {
  return !IsOperation(hang) && !IsFewOf(HostsOf(trace, hang).size(), trace.hosts.size());
}

}  // namespace lockstep
