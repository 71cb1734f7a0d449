#include "formats/watchdog_times.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lockstep {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;

struct Range {
  int64_t low = -kFar;
  int64_t high = kFar;
};

// What contradicts itself becomes its middle.
void Intersect(int64_t low, int64_t high, WatchedCall& call) {
  call.earliest_end_ns = std::max(call.earliest_end_ns, low);
  call.latest_end_ns = std::min(call.latest_end_ns, high);
  if (call.earliest_end_ns <= call.latest_end_ns) return;
  call.earliest_end_ns = call.latest_end_ns + (call.earliest_end_ns - call.latest_end_ns) / 2;
  call.latest_end_ns = call.earliest_end_ns;
}

class Narrowing {
 public:
  explicit Narrowing(std::vector<WatchedCall>& calls) : calls_(calls) {
    for (size_t i = 0; i < calls.size(); ++i) by_member_.push_back(i);
    by_operation_ = by_member_;
    std::stable_sort(by_member_.begin(), by_member_.end(), [&](size_t a, size_t b) {
      return std::pair(calls[a].rank, calls[a].communicator) < std::pair(calls[b].rank, calls[b].communicator);
    });
    std::stable_sort(by_operation_.begin(), by_operation_.end(), [&](size_t a, size_t b) { return Key(a) < Key(b); });
  }

  void Round() {
    FollowEachOther();
    differences_.clear();
    ForEachPair([this](const WatchedCall& first, const WatchedCall& other) {
      Range& difference = differences_[{first.rank, other.rank}];
      difference.low = std::max(difference.low, other.earliest_end_ns - first.latest_end_ns);
      difference.high = std::min(difference.high, other.latest_end_ns - first.earliest_end_ns);
    });
    for (auto& [pair, difference] : differences_) {
      if (difference.low > difference.high) std::swap(difference.low, difference.high);
    }
    ForEachPair([this](WatchedCall& first, const WatchedCall& other) {
      const Range& difference = differences_[{first.rank, other.rank}];
      Intersect(other.earliest_end_ns - difference.high, other.latest_end_ns - difference.low, first);
    });
    ForEachPair([this](const WatchedCall& first, WatchedCall& other) {
      const Range& difference = differences_[{first.rank, other.rank}];
      Intersect(first.earliest_end_ns + difference.low, first.latest_end_ns + difference.high, other);
    });
  }

  void FollowEachOther() {
    for (size_t i = 1; i < by_member_.size(); ++i) {
      WatchedCall& call = calls_[by_member_[i]];
      const WatchedCall& before = calls_[by_member_[i - 1]];
      if (OfOneMember(before, call)) Intersect(before.earliest_end_ns + call.duration_ns, kFar, call);
    }
    for (size_t i = by_member_.size(); i-- > 1;) {
      const WatchedCall& after = calls_[by_member_[i]];
      WatchedCall& call = calls_[by_member_[i - 1]];
      if (OfOneMember(call, after)) Intersect(-kFar, after.latest_end_ns - after.duration_ns, call);
    }
  }

 private:
  static bool OfOneMember(const WatchedCall& a, const WatchedCall& b) {
    return a.rank == b.rank && a.communicator == b.communicator;
  }

  std::tuple<int32_t, uint64_t, int32_t> Key(size_t call) const {
    return {calls_[call].communicator, calls_[call].sequence, calls_[call].rank};
  }

  // The first member of each collective with each other one.
  template <typename Visit>
  void ForEachPair(const Visit& visit) {
    size_t first = 0;
    for (size_t i = 1; i < by_operation_.size(); ++i) {
      WatchedCall& a = calls_[by_operation_[first]];
      WatchedCall& b = calls_[by_operation_[i]];
      if (a.communicator != b.communicator || a.sequence != b.sequence) {
        first = i;
      } else if (a.rank != b.rank) {
        visit(a, b);
      }
    }
  }

  std::vector<WatchedCall>& calls_;
  std::vector<size_t> by_member_;
  std::vector<size_t> by_operation_;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, Range> differences_;  // clock of the second less that of the first
};

}  // namespace

void NarrowEnds(std::vector<WatchedCall>& calls) {
  Narrowing narrowing(calls);
  for (int round = 0; round < kNarrowingRounds; ++round) narrowing.Round();
  narrowing.FollowEachOther();
}

}  // namespace lockstep
