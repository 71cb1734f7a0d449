#include "detector/hang/collective_counters.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

int64_t HeardNs(const Member& member, absl::Span<const RankProcess> ranks) {
  return ranks[static_cast<size_t>(member.rank_slot)].received_ns;
}

// A report heard at `heard_ns` would tell of the collectives that others have left.
bool LongBefore(const Communicator& communicator, int64_t heard_ns, int64_t freshness_ns) {
  return heard_ns - communicator.entered_by_all_since_ns >= freshness_ns;
}

bool StandsInFront(const Communicator& communicator, const Member& member) {
  return member.in_flight.has_value() && member.in_flight->started && IsSynchronous(member.in_flight->kind) &&
         member.in_flight->sequence > communicator.entered_by_all;
}

}  // namespace

int64_t CountedEnteredByAll(const Communicator& communicator, absl::Span<const RankProcess> ranks,
                            int64_t freshness_ns) {
  int64_t heard_ns = std::numeric_limits<int64_t>::max();
  for (const Member& member : communicator.members) {
    if (member.in_flight.has_value()) heard_ns = std::min(heard_ns, HeardNs(member, ranks));
  }
  int64_t left = -1;
  for (const Member& member : communicator.members) {
    if (member.rank_slot < 0) continue;
    const int64_t left_ns = HeardNs(member, ranks) - member.idle_ns;
    if (heard_ns - left_ns >= freshness_ns) left = std::max(left, static_cast<int64_t>(member.finished));
  }
  int64_t entered =
      LongBefore(communicator, heard_ns, freshness_ns) ? static_cast<int64_t>(communicator.entered_by_all) : -1;
  for (const Member& member : communicator.members) {
    if (!member.in_flight.has_value() || !IsSynchronous(member.in_flight->kind)) continue;
    const auto inside = static_cast<int64_t>(member.in_flight->sequence);
    if (inside <= left) entered = std::max(entered, inside);
  }
  return entered;
}

bool CountersStopped(const RankProcess& rank, absl::Span<const Communicator> communicators, int64_t freshness_ns) {
  bool behind = false;
  for (const RankProcess::Membership& place : rank.memberships) {
    const Communicator& communicator = communicators[static_cast<size_t>(place.communicator_slot)];
    const Member& member = communicator.members[static_cast<size_t>(place.member)];
    if (StandsInFront(communicator, member)) return false;
    behind = behind || (communicator.entered_by_all > member.enqueued + 1 &&
                        LongBefore(communicator, rank.received_ns, freshness_ns));
  }
  return behind;
}

}  // namespace lockstep
