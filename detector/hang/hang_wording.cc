#include "detector/hang/hang_wording.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/tuning.h"
#include "detector/verdict/trace_wording.h"
#include "detector/verdict/wording.h"

namespace lockstep {

std::string OperationName(const Trace& trace, const Hang& hang) {
  return absl::StrCat(Name(hang.operation), " ", hang.sequence, " of ",
                      TraceCommunicatorName(trace, hang.communicator));
}

std::string StuckName(const Trace& trace, const Hang& hang) {
  const std::string way = Describe(hang.tuning);
  return absl::StrCat(OperationName(trace, hang), way.empty() ? "" : absl::StrCat(" (", way, ")"));
}

std::string StateSentence(const Trace& trace, int32_t rank) {
  const TraceRank& who = trace.ranks[static_cast<size_t>(rank)];
  const std::string process = absl::StrCat("The process of ", TraceRankList(trace, {rank}));
  if (IsDead(who)) return absl::StrCat(process, " is dead.");
  if (who.process_state == ProcessState::kStopped) {
    return absl::StrCat(process, " is stopped by a signal or a debugger (state T).");
  }
  if (who.process_state == ProcessState::kUninterruptible) {
    return absl::StrCat(process, " waits for a device or a file system and cannot be interrupted (state D).");
  }
  return "";
}

std::vector<std::string> AboutVictims(const Frontier& frontier, const Hang& hang) {
  const Trace& trace = frontier.trace();
  const Watch* const watch = frontier.watch();
  std::string text =
      absl::StrFormat("%d of %d ranks wait for it, %d of them there", hang.victims, trace.ranks.size(), hang.waiting);
  const double waited_seconds = static_cast<double>(hang.waited_ns) / kNanosPerSecond;
  if (watch != nullptr) {
    absl::StrAppend(&text, ", the longest for ", Duration(waited_seconds));
  } else if (hang.waited_ns >= kNanosPerSecond) {
    absl::StrAppend(&text, "; the clock of one host shows a wait of at least ", Duration(waited_seconds));
  }
  if (watch != nullptr && watch->longest_usual_step_seconds > 0) {
    absl::StrAppend(&text, "; the longest usual step of this job takes ", Duration(watch->longest_usual_step_seconds));
  }
  std::vector<std::string> sentences = {absl::StrCat(text, ".")};
  if (hang.first_victims.empty()) return sentences;
  const bool one = hang.victims == 1;
  std::string who = TraceRankList(trace, hang.first_victims);
  who[0] = 'R';
  const auto others = static_cast<size_t>(hang.victims) - hang.first_victims.size();
  if (others > 0) absl::StrAppend(&who, " and ", others, " more");
  sentences.push_back(absl::StrCat(who, one ? " only waits: it is a victim." : " only wait: they are victims."));
  return sentences;
}

std::string WhatTheyDo(const Trace& trace, const Hang& hang, const std::vector<int32_t>& ranks) {
  const bool one = ranks.size() == 1;
  std::string who = one ? TraceRankName(trace, ranks[0]) : TraceRankList(trace, ranks);
  who[0] = 'R';
  if (hang.kind == HangKind::kNotFinished) {
    return absl::StrCat(who, one ? " does" : " do", " not get out of ", StuckName(trace, hang),
                        ", which other members have finished: all had entered it, so what is stuck is ",
                        one ? "its GPU." : "their GPUs.");
  }
  if (hang.kind == HangKind::kHalted) {
    return absl::StrCat(who, one ? " has" : " have", " entered ", StuckName(trace, hang), " and", one ? " does" : " do",
                        " not get out of it.");
  }
  if (hang.called) {
    return absl::StrCat("The host of ", TraceRankList(trace, ranks), " has called ", OperationName(trace, hang),
                        " and the GPU has not begun it: it is stuck in earlier work of its own.");
  }
  return absl::StrCat(who, one ? " has" : " have", " not entered ", OperationName(trace, hang),
                      one ? " and waits" : " and wait", " for nobody.");
}

std::string SilenceOf(const Frontier& frontier, int32_t host, int32_t ranks, const Hang* hang) {
  const Trace& trace = frontier.trace();
  const std::string& name = trace.hosts[static_cast<size_t>(host)];
  const Watch* const watch = frontier.watch();
  if (watch != nullptr) {
    const auto silent_ns = static_cast<double>(watch->host_silent_ns[static_cast<size_t>(host)]);
    return absl::StrFormat(
        "Host %s has been silent for %s, while others report; nothing shows that its %d ranks "
        "took part in anything since.",
        name, Duration(silent_ns / kNanosPerSecond), ranks);
  }
  return absl::StrFormat(
      "All %d ranks of host %s leave records up to the same moment and none after it, not even of "
      "an operation begun, while others wait in %s.",
      ranks, name, OperationName(trace, *hang));
}

}  // namespace lockstep
