#include "detector/testing/asked_trace.h"

#include <algorithm>
#include <cstddef>

#include "detector/hang/frontier.h"
#include "detector/hang/trace_frontier.h"
#include "detector/hang/trace_hangs.h"

namespace lockstep {

std::string Told(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) text += ToJsonLine(verdict) + "\n";
  return text;
}

std::set<int32_t> Accused(const std::vector<Verdict>& verdicts) {
  std::set<int32_t> ranks;
  for (const Verdict& verdict : verdicts) {
    for (const Culprit& culprit : verdict.culprits) ranks.insert(culprit.rank);
  }
  return ranks;
}

std::vector<Verdict> VerdictsOf(const Trace& trace, absl::Span<const HostEvent> events, bool stalls_pass) {
  return FindHangs(FrontierOf(trace), events, stalls_pass).verdicts;
}

int64_t LastMoment(const Trace& trace, size_t rank) {
  int64_t last_ns = 0;
  for (const TraceOperation& operation : trace.OperationsOf(rank)) {
    last_ns = std::max({last_ns, operation.enqueue_ns, operation.start_ns, operation.end_ns});
  }
  return last_ns;
}

void LookAfter(int64_t after_ns, Trace* trace) {
  for (size_t rank = 0; rank < trace->ranks.size(); ++rank) {
    trace->ranks[rank].last_seen_ns = LastMoment(*trace, rank) + after_ns;
  }
}

void CallOneMore(int64_t after_ns, Trace* trace) {
  for (size_t rank = trace->ranks.size(); rank-- > 0;) {
    const absl::Span<const TraceOperation> operations = trace->OperationsOf(rank);
    if (operations.empty() || operations.back().finished()) continue;
    TraceOperation next = operations.back();
    ++next.sequence;
    next.enqueue_ns = LastMoment(*trace, rank) + after_ns;
    next.start_ns = kNoTime;
    const auto end = static_cast<std::ptrdiff_t>(trace->first_operation[rank + 1]);
    trace->operations.insert(trace->operations.begin() + end, next);
    for (size_t r = rank + 1; r < trace->first_operation.size(); ++r) ++trace->first_operation[r];
  }
}

}  // namespace lockstep
