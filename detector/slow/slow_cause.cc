#include "detector/slow/slow_cause.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "base/shares.h"
#include "detector/model/peers_elsewhere.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// Budget of time; a median of so many is known to a fifth of their spread.
constexpr size_t kMaxComparedPeers = 32;
// More than half: the main kind of an excess, and most ranks of a host.
constexpr double kMostOf = kMainPart;
// Of the strongest excess on the host.
constexpr double kComparable = kMainPart;
// Steps in which another rank of the host has to be as slow: in one it may be by chance.
constexpr size_t kMinShown = 2;
// Of those in which its own time is known.
constexpr double kMinShownShare = kMinorPart;

// Medians over the steps in which a suspect is slow.
struct Usual {
  double own = 0;
  double host_bound = 0;
  double largest = 0;
  double lead = 0;         // from launch to begin, of the operation behind the largest interval; 0 = not known
  double apart = 0;        // own time apart from the largest interval
  double apart_error = 0;  // standard error
};

// 0 = not known.
double LeadSeconds(const Trace& trace, uint32_t operation) {
  if (operation >= trace.operations.size()) return 0;
  const TraceOperation& behind = trace.operations[operation];
  if (!behind.started() || behind.enqueue_ns == kNoTime) return 0;
  return static_cast<double>(behind.start_ns - behind.enqueue_ns) * 1e-9;
}

std::vector<size_t> StretchOf(const Suspect& suspect) {
  std::vector<size_t> steps(static_cast<size_t>(suspect.last_step - suspect.first_step + 1));
  std::iota(steps.begin(), steps.end(), static_cast<size_t>(suspect.first_step));
  return steps;
}

// Of its stretch; all of them where none is as slow as is said of it.
std::vector<size_t> SlowSteps(const OwnProfile& profile, const Suspect& suspect) {
  std::vector<size_t> slow = StretchOf(suspect);
  const size_t row = static_cast<size_t>(suspect.rank) * profile.steps;
  std::erase_if(slow, [&](size_t step) {
    return !(static_cast<double>(profile.excess[row + step]) >= kComparable * suspect.excess_seconds);
  });
  return slow.empty() ? StretchOf(suspect) : slow;
}

Usual UsualOf(const Trace& trace, const OwnProfile& profile, const std::vector<size_t>& steps, size_t rank) {
  std::vector<double> own, host_bound, largest, lead, apart;
  for (const size_t step : steps) {
    const size_t at = rank * profile.steps + step;
    if (std::isnan(profile.own[at])) continue;
    own.push_back(static_cast<double>(profile.shared[at]));
    host_bound.push_back(static_cast<double>(profile.host_bound[at]));
    largest.push_back(static_cast<double>(profile.largest[at]));
    lead.push_back(LeadSeconds(trace, profile.largest_before[at]));
    apart.push_back(own.back() - largest.back());
  }
  const double middle = MedianInPlace(&apart);
  return {.own = MedianInPlace(&own),
          .host_bound = MedianInPlace(&host_bound),
          .largest = MedianInPlace(&largest),
          .lead = MedianInPlace(&lead),
          .apart = middle,
          .apart_error = kErrorOfMedian * ErrorOfMiddle(&apart, middle)};
}

// Own time of all peers, as the excess of the rank has it: whoever is sampled must not show in it.
double PeerSeconds(const OwnProfile& profile, const std::vector<size_t>& steps, size_t rank) {
  std::vector<double> seconds;
  for (const size_t step : steps) {
    const auto of_peers = static_cast<double>(profile.Row(profile.shared, rank)[step]) -
                          static_cast<double>(profile.Row(profile.excess, rank)[step]);
    if (!std::isnan(of_peers)) seconds.push_back(of_peers);
  }
  return MedianInPlace(&seconds);
}

// Of the peers that are no suspects themselves; of all when there are no others.
Usual UsualOfPeers(const Trace& trace, const JobRoles& roles, const OwnProfile& profile,
                   const std::vector<size_t>& steps, int32_t rank, const std::vector<char>& suspected) {
  const std::vector<int32_t>& peers = roles.PeersOf(static_cast<size_t>(rank));
  std::vector<double> host_bound, largest, lead, apart;
  const size_t stride = std::max<size_t>(1, peers.size() / kMaxComparedPeers);
  for (const bool clean : {true, false}) {
    for (size_t i = 0; i < peers.size(); i += stride) {
      const auto peer = static_cast<size_t>(peers[i]);
      if (peers[i] == rank || (clean && suspected[peer] != 0)) continue;
      const Usual usual = UsualOf(trace, profile, steps, peer);
      host_bound.push_back(usual.host_bound);
      largest.push_back(usual.largest);
      lead.push_back(usual.lead);
      apart.push_back(usual.apart);
    }
    if (!apart.empty()) break;
  }
  return {.own = PeerSeconds(profile, steps, static_cast<size_t>(rank)),
          .host_bound = MedianInPlace(&host_bound),
          .largest = MedianInPlace(&largest),
          .lead = MedianInPlace(&lead),
          .apart = MedianInPlace(&apart)};
}

// Medians over those steps of a stretch in which the rank is about as slow as the one whose stretch it is, and which is
// slow in all of them or in some; no steps where these are too few.
Suspect AsSlowAs(const Suspect& strongest, const OwnProfile& profile, int32_t rank) {
  const bool at_times = strongest.in_some_steps();
  const double least_share = at_times ? kNearlyAll : kMinShownShare;
  Suspect other = strongest;
  other.rank = rank;
  if (at_times) other.slow_above_seconds = kComparable * strongest.slow_above_seconds;
  std::vector<double> excess, own;
  size_t known = 0;
  for (const size_t step : at_times ? SlowSteps(profile, strongest) : StretchOf(strongest)) {
    const size_t at = static_cast<size_t>(rank) * profile.steps + step;
    if (std::isnan(profile.excess[at])) continue;
    ++known;
    if (static_cast<double>(profile.excess[at]) < kComparable * strongest.excess_seconds) continue;
    own.push_back(static_cast<double>(profile.shared[at]));
    excess.push_back(static_cast<double>(profile.excess[at]));
  }
  const bool enough =
      excess.size() >= kMinShown && static_cast<double>(excess.size()) >= least_share * static_cast<double>(known);
  other.steps = enough ? static_cast<int32_t>(excess.size()) : 0;
  other.excess_seconds = MedianInPlace(&excess);
  other.own_seconds = MedianInPlace(&own);
  other.before_seconds = SecondsBefore(profile, static_cast<size_t>(rank), static_cast<size_t>(strongest.first_step));
  return other;
}

// What is one cause has one stretch. Lost records cut that of single ranks short, and never lengthen it: so the quarter
// of the ranks that begin first say when it began, and those that end last when it ended.
void DateTogether(const OwnProfile& profile, SlowCause* cause) {
  std::vector<int32_t> first, last, before, after;
  for (const Suspect& suspect : cause->suspects) {
    first.push_back(suspect.first_step);
    last.push_back(-suspect.last_step);
    before.push_back(suspect.earliest_step());
    after.push_back(-suspect.latest_step());
  }
  const auto quarter = [](std::vector<int32_t>* dates) { return ElementAt(dates->size() / 4, dates); };
  const int32_t first_step = quarter(&first), last_step = -quarter(&last);
  const int32_t earliest = quarter(&before), latest = -quarter(&after);
  for (Suspect& suspect : cause->suspects) {
    suspect.first_step = first_step;
    suspect.last_step = last_step;
    suspect.unknown_before = std::max(0, first_step - earliest);
    suspect.unknown_after = std::max(0, latest - last_step);
    suspect.before_seconds = SecondsBefore(profile, static_cast<size_t>(suspect.rank), static_cast<size_t>(first_step));
  }
}

// The other ranks of a host that are as slow in some steps as its strongest suspect, though not in so many that they
// would be suspects by themselves. Where records are lost, what is slow may lie beside them, in most of the steps of
// one rank in thousands; and what comes and goes is rare. Removing the fault of the host removes theirs too.
std::vector<Suspect> RestOfHost(const Trace& trace, const JobRoles& roles, const OwnProfile& profile,
                                const std::vector<char>& suspected, const Suspect& strongest) {
  std::vector<Suspect> rest;
  const int32_t host = trace.ranks[static_cast<size_t>(strongest.rank)].host;
  for (const int32_t peer : roles.PeersOf(static_cast<size_t>(strongest.rank))) {
    const auto rank = static_cast<size_t>(peer);
    if (trace.ranks[rank].host != host || suspected[rank] != 0) continue;
    Suspect other = AsSlowAs(strongest, profile, peer);
    if (other.steps > 0) rest.push_back(std::move(other));
  }
  return rest;
}

void Append(std::vector<Suspect> more, std::vector<Suspect>* suspects) {
  suspects->insert(suspects->end(), more.begin(), more.end());
}

void Classify(const Trace& trace, const JobRoles& roles, const OwnProfile& profile, const std::vector<char>& suspected,
              SlowCause* cause) {
  const Suspect& strongest = cause->suspects.front();
  const std::vector<size_t> steps = SlowSteps(profile, strongest);
  const Usual own = UsualOf(trace, profile, steps, static_cast<size_t>(strongest.rank));
  const Usual peers = UsualOfPeers(trace, roles, profile, steps, strongest.rank, suspected);
  cause->peer_seconds = peers.own;
  const double excess = std::max(own.own - peers.own, 1e-9);
  cause->host_share = std::clamp((own.host_bound - peers.host_bound) / excess, 0.0, 1.0);
  // Beside a slow GPU, all intervals grow in proportion; where the rank waits for input, none but the longest.
  const double grows_apart = peers.own > 0 ? excess * (1 - peers.largest / peers.own) : 0;
  const double most_apart = own.apart - peers.apart + kSureErrors * own.apart_error;
  // A host that waits for input launches later by that; beside a slow GPU it gets ahead instead.
  const bool host_got_ahead = own.lead - peers.lead > kMostOf * excess;
  if (most_apart < grows_apart / 2 && !host_got_ahead) {
    cause->kind = SlowKind::kInput;
  } else if (cause->whole_host || (cause->host_share > kMostOf && peers.host_bound < kMostOf * peers.own)) {
    // Where the peers' hosts are never ahead, being behind tells nothing.
    cause->kind = SlowKind::kHost;
  }
}

}  // namespace

bool AreOfOneEvent(const SlowCause& a, const SlowCause& b) {
  const Suspect& first = a.suspects.front();
  const Suspect& second = b.suspects.front();
  return a.kind == b.kind && first.earliest_step() <= second.first_step + kSameOnsetSteps &&
         second.earliest_step() <= first.first_step + kSameOnsetSteps;
}

std::vector<SlowCause> GroupSuspects(const Trace& trace, const JobRoles& roles, const OwnProfile& profile,
                                     const std::vector<Suspect>& suspects) {
  std::vector<int32_t> ranks_of_host(trace.hosts.size(), 0);
  for (const TraceRank& rank : trace.ranks) {
    if (rank.host >= 0) ++ranks_of_host[static_cast<size_t>(rank.host)];
  }
  const std::vector<char> have_peers_elsewhere = HavePeersElsewhere(trace, roles);
  std::vector<char> suspected(trace.ranks.size(), 0);
  std::map<int32_t, std::vector<Suspect>> by_host;
  std::vector<SlowCause> causes;
  for (const Suspect& suspect : suspects) {
    suspected[static_cast<size_t>(suspect.rank)] = 1;
    const int32_t host = trace.ranks[static_cast<size_t>(suspect.rank)].host;
    if (host >= 0) {
      by_host[host].push_back(suspect);
    } else {
      causes.push_back({.suspects = {suspect}});
    }
  }
  for (auto& [host, own] : by_host) {
    // Suspects come strongest first. What is far weaker than the strongest has another cause, or is its echo.
    const double comparable = kComparable * own.front().excess_seconds;
    const auto weaker = std::find_if(
        own.begin(), own.end(), [comparable](const Suspect& suspect) { return suspect.excess_seconds < comparable; });
    std::vector<Suspect> alike(own.begin(), weaker);
    if (own.front().in_some_steps()) Append(RestOfHost(trace, roles, profile, suspected, own.front()), &alike);
    // Without peers elsewhere nothing says that the host is slow: those of its ranks that are not may be the odd ones.
    const bool has_peers_elsewhere = std::any_of(alike.begin(), alike.end(), [&](const Suspect& suspect) {
      return have_peers_elsewhere[static_cast<size_t>(suspect.rank)] != 0;
    });
    const bool whole = alike.size() > 1 && has_peers_elsewhere &&
                       alike.size() * 2 >= static_cast<size_t>(ranks_of_host[static_cast<size_t>(host)]);
    for (const Suspect& suspect : alike) suspected[static_cast<size_t>(suspect.rank)] |= whole ? 1 : 0;
    if (whole) causes.push_back({.whole_host = true, .suspects = std::move(alike)});
    for (auto rest = whole ? weaker : own.begin(); rest != own.end(); ++rest) causes.push_back({.suspects = {*rest}});
  }
  for (SlowCause& cause : causes) {
    if (!cause.whole_host) continue;
    DateTogether(profile, &cause);
    Append(RestOfHost(trace, roles, profile, suspected, cause.suspects.front()), &cause.suspects);
  }
  for (SlowCause& cause : causes) Classify(trace, roles, profile, suspected, &cause);
  std::stable_sort(causes.begin(), causes.end(), [](const SlowCause& a, const SlowCause& b) {
    return a.suspects.front().excess_seconds > b.suspects.front().excess_seconds;
  });
  return causes;
}

}  // namespace lockstep
