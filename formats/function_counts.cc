#include "formats/function_counts.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

// A count of functions falls at more than one in so many changes of function.
constexpr size_t kCallsPerFall = 10;

using Count = std::pair<OperationKind, uint64_t>;

Count CountOf(const CountedCall& call) { return {call.operation->kind, call.operation->sequence}; }

// `calls` by process, and in its order. A count of the communicator rises from each call to the next, but for times
// that are too coarse to tell the order.
bool CountsFunctions(absl::Span<const CountedCall> calls) {
  size_t changes = 0;
  size_t falls = 0;
  for (size_t i = 1; i < calls.size(); ++i) {
    const TraceOperation& before = *calls[i - 1].operation;
    const TraceOperation& after = *calls[i].operation;
    if (calls[i - 1].process != calls[i].process || before.kind == after.kind) continue;
    ++changes;
    falls += after.sequence <= before.sequence;
  }
  return falls * kCallsPerFall > changes;
}

// The counts of each function in a row, and which of them come right before which.
class Merge {
 public:
  // By process, and in its order.
  explicit Merge(absl::Span<const CountedCall> calls) {
    for (const CountedCall& call : calls) counts_.push_back(CountOf(call));
    std::sort(counts_.begin(), counts_.end());
    counts_.erase(std::unique(counts_.begin(), counts_.end()), counts_.end());
    waits_for_.assign(counts_.size(), 0);
    for (size_t i = 1; i < calls.size(); ++i) {
      const size_t before = PlaceOf(CountOf(calls[i - 1]));
      const size_t after = PlaceOf(CountOf(calls[i]));
      if (calls[i - 1].process != calls[i].process || before == after) continue;
      follows_.emplace_back(before, after);
      ++waits_for_[after];
    }
    std::sort(follows_.begin(), follows_.end());
  }

  size_t PlaceOf(const Count& count) const {
    return static_cast<size_t>(std::lower_bound(counts_.begin(), counts_.end(), count) - counts_.begin());
  }

  // The number of each place: of the functions' next counts always the one that waits for fewest others.
  std::vector<uint64_t> Numbers() {
    std::vector<std::pair<size_t, size_t>> functions;  // next place, and end
    for (size_t place = 0; place < counts_.size(); ++place) {
      if (place == 0 || counts_[place].first != counts_[place - 1].first) functions.emplace_back(place, place);
      functions.back().second = place + 1;
    }
    std::vector<uint64_t> numbers(counts_.size());
    for (uint64_t number = 0; number < counts_.size(); ++number) {
      auto next = functions.end();
      for (auto function = functions.begin(); function != functions.end(); ++function) {
        if (function->first == function->second) continue;
        if (next == functions.end() || waits_for_[function->first] < waits_for_[next->first]) next = function;
      }
      numbers[next->first] = number;
      Release(next->first);
      ++next->first;
    }
    return numbers;
  }

 private:
  void Release(size_t place) {
    auto follower = std::lower_bound(follows_.begin(), follows_.end(), std::pair(place, size_t{0}));
    for (; follower != follows_.end() && follower->first == place; ++follower) --waits_for_[follower->second];
  }

  std::vector<Count> counts_;                       // by function, rising
  std::vector<size_t> waits_for_;                   // by place
  std::vector<std::pair<size_t, size_t>> follows_;  // place, and one right after it in some process
};

}  // namespace

void CountPerCommunicator(std::vector<CountedCall> calls) {
  const auto place = [](const CountedCall& call) {
    const TraceOperation& operation = *call.operation;
    const int64_t when_ns = operation.finished() ? operation.end_ns : operation.enqueue_ns;
    return std::make_tuple(call.process, !operation.finished(), when_ns);
  };
  std::stable_sort(calls.begin(), calls.end(),
                   [&](const CountedCall& a, const CountedCall& b) { return place(a) < place(b); });
  if (!CountsFunctions(calls)) return;
  Merge merge(calls);
  const std::vector<uint64_t> numbers = merge.Numbers();
  std::vector<size_t> places;
  places.reserve(calls.size());
  for (const CountedCall& call : calls) places.push_back(merge.PlaceOf(CountOf(call)));
  for (size_t i = 0; i < calls.size(); ++i) calls[i].operation->sequence = numbers[places[i]];
}

}  // namespace lockstep
