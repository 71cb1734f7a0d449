#include "detector/hang/hang_reason.h"

#include <algorithm>
#include <cstddef>

#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

HeldUp HowOf(const Hang& hang) {
  if (hang.doubt == Doubt::kLost) return HeldUp::kOneNotEntered;
  if (hang.doubt == Doubt::kMany) return HeldUp::kEachByItself;
  if (hang.kind == HangKind::kNotFinished) return HeldUp::kNotFinished;
  if (hang.kind == HangKind::kHalted) return HeldUp::kNotLeft;
  if (HasStoppedCalling(hang)) return HeldUp::kStoppedCalling;
  return hang.called ? HeldUp::kNotBegun : HeldUp::kNotEntered;
}

}  // namespace

OperationName OperationOf(const Trace& trace, const Hang& hang) {
  return {
      .kind = hang.operation, .sequence = hang.sequence, .communicator = CommunicatorNameOf(trace, hang.communicator)};
}

std::optional<ProcessCannotRun> StateOf(const Trace& trace, int32_t rank_index) {
  const TraceRank& who = trace.ranks[static_cast<size_t>(rank_index)];
  const bool stands =
      who.process_state == ProcessState::kStopped || who.process_state == ProcessState::kUninterruptible;
  if (!IsDead(who) && !stands) return std::nullopt;
  return ProcessCannotRun{.rank = who.rank, .state = who.process_state};
}

std::vector<Reason> AboutVictims(const Frontier& frontier, const Hang& hang) {
  const Trace& trace = frontier.trace();
  const Watch* const watch = frontier.watch();
  std::vector<Reason> reasons = {
      Waiters{.victims = hang.victims,
              .ranks = trace.ranks.size(),
              .waiting = std::min(hang.victims, hang.waiting),  // whom they wait for may stand there as well
              .waited_seconds = static_cast<double>(hang.waited_ns) / kNanosPerSecond,
              .live = watch != nullptr,
              .longest_usual_step_seconds = watch == nullptr ? 0 : watch->longest_usual_step_seconds}};
  if (hang.first_victims.empty()) return reasons;
  reasons.push_back(Victims{.ranks = NumbersOf(trace, hang.first_victims),
                            .more = static_cast<size_t>(hang.victims) - hang.first_victims.size()});
  return reasons;
}

HeldUpRanks WhatTheyDo(const Trace& trace, const Hang& hang, const std::vector<int32_t>& ranks) {
  return {.how = HowOf(hang),
          .ranks = {.ranks = NumbersOf(trace, ranks), .host = ranks.size() == 1 ? HostNameOf(trace, ranks[0]) : ""},
          .operation = OperationOf(trace, hang),
          .tuning = hang.tuning};
}

Reason SilenceOf(const Frontier& frontier, int32_t host, int32_t ranks, const Hang* hang) {
  const std::string& name = frontier.trace().hosts[static_cast<size_t>(host)];
  const Watch* const watch = frontier.watch();
  if (watch == nullptr) {
    return HostRecordsEnd{.host = name, .ranks = ranks, .waited_in = OperationOf(frontier.trace(), *hang)};
  }
  const auto silent_ns = static_cast<double>(watch->host_silent_ns[static_cast<size_t>(host)]);
  return HostSilence{.host = name, .ranks = ranks, .silent_seconds = silent_ns / kNanosPerSecond};
}

}  // namespace lockstep
