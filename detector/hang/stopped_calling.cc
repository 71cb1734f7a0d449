#include "detector/hang/stopped_calling.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/functional/function_ref.h"
#include "base/median.h"
#include "base/shares.h"
#include "detector/hang/artefact_causes.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// The host of a GPU that is stuck in a kernel fills its queue as all others do, from that kernel on instead of from the
// operation: it is behind by what lies in between, the call itself and at most another one beside it. And a queue holds
// so many launches: the calls in a long one differ by one or two between hosts that all go on.
constexpr int64_t kFarBehind = 3;

// What a rank has in flight, in all communicators.
struct InFlight {
  size_t called = 0;
  size_t begun = 0;
};

// What most members of a communicator have called, in all that they share.
struct UsualCalls {
  int64_t called = -1;
  InFlight least;  // of those that have called that much
  size_t members = 0;
  bool few_are_behind = false;
};

// Communicators of which all members of this one are members, itself among them.
std::vector<int32_t> SharedByAll(const Frontier& frontier, const std::vector<int32_t>& members) {
  std::vector<int32_t> shared;
  for (size_t c = 0; c < frontier.trace().communicators.size(); ++c) {
    const auto communicator = static_cast<int32_t>(c);
    const bool all = std::all_of(members.begin(), members.end(), [&](int32_t rank) {
      return rank < 0 || frontier.MemberOf(static_cast<size_t>(rank), communicator) >= 0;
    });
    if (all) shared.push_back(communicator);
  }
  return shared;
}

// How many collectives of these communicators the rank has called.
int64_t CallsOf(const Frontier& frontier, const std::vector<int32_t>& communicators, int32_t rank) {
  int64_t called = 0;
  for (const int32_t communicator : communicators) {
    called += frontier.Of(communicator, frontier.MemberOf(static_cast<size_t>(rank), communicator)).entered;
  }
  return called;
}

// As many begun as called where records do not tell a begin.
InFlight InFlightOf(const Frontier& frontier, int32_t rank) {
  const absl::Span<const size_t> open = frontier.OpenOf(static_cast<size_t>(rank));
  if (!frontier.TellsBegun(static_cast<size_t>(rank))) return {open.size(), open.size()};
  const auto has_begun = [&](size_t index) { return frontier.trace().operations[index].started(); };
  return {open.size(), static_cast<size_t>(std::count_if(open.begin(), open.end(), has_begun))};
}

UsualCalls UsualCallsOf(const Frontier& frontier, const std::vector<int32_t>& members,
                        const std::vector<int32_t>& shared) {
  UsualCalls usual;
  std::vector<int64_t> called;  // by member that is known
  std::vector<InFlight> in_flight;
  for (const int32_t rank : members) {
    if (rank < 0 || frontier.CutShort(static_cast<size_t>(rank))) continue;
    called.push_back(CallsOf(frontier, shared, rank));
    in_flight.push_back(InFlightOf(frontier, rank));
  }
  usual.members = called.size();
  if (called.empty()) return usual;
  std::vector<int64_t> sorted = called;
  usual.called = LowerMedian(&sorted);
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  usual.least = {kMost, kMost};
  size_t behind = 0;
  for (size_t i = 0; i < called.size(); ++i) {
    if (called[i] < usual.called) {
      ++behind;
      continue;
    }
    usual.least.called = std::min(usual.least.called, in_flight[i].called);
    usual.least.begun = std::min(usual.least.begun, in_flight[i].begun);
  }
  usual.few_are_behind = static_cast<double>(behind) <= kMinorPart * static_cast<double>(called.size());
  return usual;
}

// A running program may have a reason to call no more: it waits for a result of its GPU, to print it.
bool IsKnownToRun(const Frontier& frontier, int32_t rank) {
  return frontier.trace().ranks[static_cast<size_t>(rank)].process_state == ProcessState::kRunning;
}

// Of the members that have called less than is usual, those that `stopped` is true of.
std::vector<int32_t> StoppedMembers(
    const Frontier& frontier, int32_t communicator,
    absl::FunctionRef<bool(const UsualCalls& usual, int64_t missing, InFlight in_flight)> stopped) {
  std::vector<int32_t> found;
  const std::vector<int32_t>& members = frontier.trace().communicators[static_cast<size_t>(communicator)].members;
  const std::vector<int32_t> shared = SharedByAll(frontier, members);
  const UsualCalls usual = UsualCallsOf(frontier, members, shared);
  for (size_t m = 0; m < members.size() && usual.few_are_behind; ++m) {
    if (members[m] < 0 || frontier.CutShort(static_cast<size_t>(members[m]))) continue;
    const int64_t missing = usual.called - CallsOf(frontier, shared, members[m]);
    if (missing <= 0 || LossIsLikely(frontier, usual.members, missing)) continue;
    if (IsKnownToRun(frontier, members[m]) || frontier.HidesCalls(static_cast<size_t>(members[m]))) continue;
    if (stopped(usual, missing, InFlightOf(frontier, members[m]))) found.push_back(members[m]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<int32_t> StoppedCalling(const Frontier& frontier, int32_t communicator) {
  return StoppedMembers(frontier, communicator, [](const UsualCalls& usual, int64_t missing, InFlight in_flight) {
    if (in_flight.called >= usual.least.called) return false;
    const bool gpu_stopped = in_flight.begun < usual.least.begun;
    return gpu_stopped || missing >= kFarBehind || 2 * in_flight.called <= usual.least.called;
  });
}

std::vector<int32_t> StoppedFarBehind(const Frontier& frontier, int32_t communicator) {
  return StoppedMembers(frontier, communicator,
                        [](const UsualCalls&, int64_t missing, InFlight) { return missing >= kFarBehind; });
}

}  // namespace lockstep
