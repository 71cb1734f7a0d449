#include "eval/metamorphic/alterations.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "detector/model/trace.h"
#include "eval/metamorphic/reread.h"
#include "eval/suites/trace_cut.h"

namespace lockstep {
namespace {

constexpr int64_t kMostAheadNs = 3600 * kNanosPerSecond;

// Every known time of an operation, and when each rank was looked at.
template <typename Change>
void ChangeTimes(Trace* trace, Change change) {
  for (size_t rank = 0; rank < trace->ranks.size(); ++rank) {
    const auto apply = [&](int64_t& time_ns) {
      if (time_ns != kNoTime) time_ns = change(trace->ranks[rank].host, time_ns);
    };
    for (size_t i = trace->first_operation[rank]; i < trace->first_operation[rank + 1]; ++i) {
      TraceOperation& operation = trace->operations[i];
      apply(operation.enqueue_ns);
      apply(operation.start_ns);
      apply(operation.end_ns);
    }
    apply(trace->ranks[rank].last_seen_ns);
  }
}

// Of its first operation, by rank: the first of the part that is left behind the cut.
std::vector<size_t> FirstOfStep(const Trace& trace, const StepTable& steps, int32_t step) {
  std::vector<size_t> first;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    size_t at = trace.first_operation[rank + 1];
    for (int32_t i = step; i < steps.steps; ++i) {
      const StepRange& range = steps.Of(rank, i);
      if (range.empty()) continue;
      at = range.begin;
      break;
    }
    first.push_back(at);
  }
  return first;
}

// Without counters and events, which know no steps.
JobEvidence OperationsAlone(const JobEvidence& recording, Trace trace) {
  JobEvidence part;
  part.job = recording.job;
  part.trace = std::move(trace);
  part.places = recording.places;
  return part;
}

}  // namespace

JobEvidence WithOtherClocks(const JobEvidence& recording, Random& random) {
  JobEvidence altered = recording;
  std::map<std::string, int64_t> ahead_ns;
  for (const std::string& host : recording.trace.hosts) {
    ahead_ns[host] = static_cast<int64_t>(random.Below(2 * static_cast<uint64_t>(kMostAheadNs))) - kMostAheadNs;
  }
  ChangeTimes(&altered.trace, [&](int32_t host, int64_t time_ns) {
    return host < 0 ? time_ns : time_ns + ahead_ns[recording.trace.hosts[static_cast<size_t>(host)]];
  });
  for (HostEvent& event : altered.events) {
    const auto known = ahead_ns.find(event.host);
    if (known != ahead_ns.end()) event.event.host_ns += known->second;
  }
  return Reread(altered);
}

JobEvidence WithOtherUnits(const JobEvidence& recording, int64_t factor) {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  for (const TraceOperation& operation : recording.trace.operations) {
    first_ns = std::min(first_ns, operation.enqueue_ns);
  }
  const auto longer = [&](int64_t time_ns) { return first_ns + factor * (time_ns - first_ns); };
  JobEvidence altered = recording;
  ChangeTimes(&altered.trace, [&](int32_t, int64_t time_ns) { return longer(time_ns); });
  for (HostEvent& event : altered.events) event.event.host_ns = longer(event.event.host_ns);
  return Reread(altered);
}

JobEvidence WithLosses(const JobEvidence& recording, double share, Random& random) {
  JobEvidence altered = recording;
  altered.trace = KeepOperations(recording.trace, [&](size_t, size_t, TraceOperation* operation) {
    const bool lost = random.Unit() < share;
    return !lost || !operation->finished();
  });
  return Reread(altered);
}

JobEvidence StepsBefore(const JobEvidence& recording, const StepTable& steps, int32_t step) {
  const std::vector<size_t> first = FirstOfStep(recording.trace, steps, step);
  Trace part = KeepOperations(recording.trace, [&](size_t rank, size_t i, TraceOperation*) { return i < first[rank]; });
  for (TraceRank& rank : part.ranks) rank.last_seen_ns = kNoTime;
  return Reread(OperationsAlone(recording, std::move(part)));
}

JobEvidence StepsFrom(const JobEvidence& recording, const StepTable& steps, int32_t step) {
  const std::vector<size_t> first = FirstOfStep(recording.trace, steps, step);
  return Reread(OperationsAlone(recording, KeepOperations(recording.trace, [&](size_t rank, size_t i, TraceOperation*) {
                                  return i >= first[rank];
                                })));
}

}  // namespace lockstep
