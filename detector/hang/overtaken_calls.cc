#include "detector/hang/overtaken_calls.h"

#include <algorithm>
#include <utility>

#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

// One end may be lost by chance.
constexpr size_t kMinRecords = 2;

// What is known of the calls of one communicator.
struct Calls {
  std::map<std::pair<OperationKind, int64_t>, size_t> overtaken;  // records, by kind and number
  std::map<OperationKind, int64_t> ended;                         // the last that has
  int64_t begun = -1;
};

bool Counts(const TraceOperation& operation) {
  return !IsPointToPoint(operation.kind) && IsSynchronous(operation.kind);
}

std::map<int32_t, Calls> Overtaken(const Trace& trace, const MemberTable& members,
                                   absl::Span<const Frontier::Progress> collectives,
                                   absl::Span<const size_t> unfinished) {
  std::map<int32_t, Calls> found;
  size_t rank = 0;
  for (const size_t i : unfinished) {
    const TraceOperation& operation = trace.operations[i];
    while (i >= trace.first_operation[rank + 1]) ++rank;
    const int32_t member = members.MemberOf(rank, operation.communicator);
    if (member < 0 || !Counts(operation)) continue;
    const auto sequence = static_cast<int64_t>(operation.sequence);
    if (sequence > collectives[members.IndexOf(operation.communicator, member)].finished) continue;
    ++found[operation.communicator].overtaken[{operation.kind, sequence}];
  }
  return found;
}

void NoteBegunAndEnded(const Trace& trace, std::map<int32_t, Calls>* of) {
  for (const TraceOperation& operation : trace.operations) {
    const auto found = of->find(operation.communicator);
    if (found == of->end() || !Counts(operation)) continue;
    const auto sequence = static_cast<int64_t>(operation.sequence);
    if (operation.started()) found->second.begun = std::max(found->second.begun, sequence);
    if (!operation.finished()) continue;
    int64_t& ended = found->second.ended.try_emplace(operation.kind, -1).first->second;
    ended = std::max(ended, sequence);
  }
}

// What the members of a communicator that left records have called.
struct Called {
  int64_t first_on_record = INT64_MAX;
  int64_t by_all = INT64_MAX;
};

Called CalledIn(const Trace& trace, int32_t communicator, const MemberTable& members,
                absl::Span<const Frontier::Progress> collectives) {
  Called called;
  const size_t size = trace.communicators[static_cast<size_t>(communicator)].members.size();
  for (size_t member = 0; member < size; ++member) {
    const Frontier::Progress& progress = collectives[members.IndexOf(communicator, static_cast<int32_t>(member))];
    if (progress.records == 0) continue;
    called.first_on_record = std::min(called.first_on_record, progress.first);
    called.by_all = std::min(called.by_all, progress.entered);
  }
  return called;
}

// INT64_MAX = none.
int64_t FirstOpen(const Calls& calls, int64_t first_on_record) {
  int64_t first = INT64_MAX;
  for (const auto& [call, records] : calls.overtaken) {
    const auto ended = calls.ended.find(call.first);
    const int64_t since = ended != calls.ended.end() ? ended->second : first_on_record;
    if (records >= kMinRecords && call.second > since) first = std::min(first, call.second);
  }
  return first;
}

}  // namespace

std::map<int32_t, int64_t> FindOvertakenCalls(const Trace& trace, const MemberTable& members,
                                              absl::Span<const Frontier::Progress> collectives,
                                              absl::Span<const size_t> unfinished) {
  std::map<int32_t, int64_t> open;
  std::map<int32_t, Calls> of = Overtaken(trace, members, collectives, unfinished);
  if (of.empty()) return open;
  NoteBegunAndEnded(trace, &of);
  for (const auto& [communicator, calls] : of) {
    const Called called = CalledIn(trace, communicator, members, collectives);
    const int64_t first = FirstOpen(calls, called.first_on_record);
    if (called.by_all >= calls.begun && first != INT64_MAX) open.emplace(communicator, first);
  }
  return open;
}

}  // namespace lockstep
