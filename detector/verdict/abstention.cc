#include "detector/verdict/abstention.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

std::string InBrackets(const std::vector<int32_t>& ranks) {
  return ranks.empty() ? "" : absl::StrCat(" (", Text(ranks), ")");
}

}  // namespace

std::string Sentence(const NoRecords&) { return "There are no operation records to judge."; }

std::string Sentence(const FewSteps& reason) {
  return absl::StrFormat("The records hold %d whole steps; no judgement is made on fewer than %d.", reason.steps,
                         reason.required);
}

std::string Sentence(const MissingRanks& reason) {
  return absl::StrFormat("%d of %d ranks left no records%s: any of them may be the one that the others wait for.",
                         reason.missing, reason.all, InBrackets(reason.ranks));
}

std::string Sentence(const RanksWithoutTimes& reason) {
  return absl::StrFormat(
      "%d of %d ranks left operations without times that tell work from waits%s: their own work was not judged.",
      reason.without, reason.all, InBrackets(reason.ranks));
}

std::string Sentence(const LostRecords& reason) {
  return absl::StrFormat("%d of %d records are lost: too many to tell that nothing is wrong.", reason.lost, reason.all);
}

std::string Sentence(const NoMeeting&) {
  return "No two ranks are known to take part in the same operation: who waits for whom cannot be told.";
}

std::string Sentence(const OpenWait& reason) {
  if (reason.waited_for.empty() && reason.communicator.name.empty() && !reason.since_ever) {
    return absl::StrFormat(
        "The records end while all ranks that left some, %d of %d, are inside of an operation. Whether it ended they "
        "do not tell: they would have to say when they were taken. If the job stood still, `lockstep diagnose --stuck` "
        "takes that for granted.",
        reason.waiting, reason.ranks);
  }
  if (reason.waited_for.empty() && reason.communicator.name.empty()) {
    return absl::StrFormat(
        "The records end while %d of %d ranks wait, most of them for longer than ever before: the job stands still, "
        "and the records do not show for whom.",
        reason.waiting, reason.ranks);
  }
  const std::string others =
      reason.other_causes > 0 ? absl::StrFormat(" (and some for %d other causes)", reason.other_causes) : "";
  const std::string waited_for = reason.waited_for.empty() ? Text(reason.communicator) : Text(reason.waited_for);
  const std::string whoever =
      reason.waiting > 0 ? absl::StrFormat("%d of %d ranks wait for %s", reason.waiting, reason.ranks, waited_for)
                         : absl::StrFormat("%s stand in one operation", waited_for);
  return absl::StrFormat(
      "The records end while %s%s, and nothing proves that it has lasted longer than such waits before. Whether the "
      "job went on they do not tell: they would have to say when they were taken. If it stood still, `lockstep "
      "diagnose --stuck` takes that for granted.",
      whoever, others);
}

std::string Sentence(const SlowWithoutCause& reason) {
  if (reason.share < 1) {
    return absl::StrFormat(
        "Since step %d, %.0f %% of the steps take %.4g s instead of %.4g s, and %.4g s per step in the mean (%.1f %%, "
        "error %.2g s) are not explained: the job is slow at times, and the cause is unknown.",
        reason.first_step, 100 * reason.share, reason.after_seconds, reason.before_seconds, reason.unexplained_seconds,
        100 * reason.unexplained_seconds / reason.mean_seconds(), reason.error_seconds);
  }
  return absl::StrFormat(
      "Since step %d steps take %.4g s instead of %.4g s, and %.4g s of it (%.1f %% of a step, error "
      "%.2g s) are not explained: the job is slow, and the cause is unknown.",
      reason.first_step, reason.after_seconds, reason.before_seconds, reason.unexplained_seconds,
      100 * reason.unexplained_seconds / reason.after_seconds, reason.error_seconds);
}

std::string Sentence(const LongerWork& reason) {
  if (reason.longer_ranks == 0)
    return "No rank's own work grew by half of that: it passes in operations, or in waits for them.";
  return absl::StrFormat("Own work of %d of %d ranks grew by half of that or more, most on %s: by %.4g s.",
                         reason.longer_ranks, reason.ranks, Text(reason.most_grown), reason.most_seconds);
}

std::string Sentence(const CausesRuledOut&) {
  return "Looked for, and not found at this size: a rank or host that works longer than its peers, late launches of "
         "one host, slow adapters, links and groups, uneven stages, batches and experts, longer work on most "
         "ranks.";
}

std::string Sentence(const FewCounters& reason) {
  return absl::StrFormat(
      "Counters of %d machines over %.0f s do not tell how the job fares: that needs at least 2, "
      "%.0f s and the power or traffic of GPUs or NICs.",
      reason.machines, reason.seconds, reason.required_seconds);
}

std::string Sentence(const NoRecordsSent&) { return "No agent sent operation records."; }

std::string Sentence(const TimesOfHandingOver&) {
  return "The records tell when operations were handed over, not when they began and ended.";
}

std::string Sentence(const StepLengthUnknown&) { return "The length of its steps is not known yet."; }

std::string Sentence(const CrowdOfMachines& reason) {
  return absl::StrFormat(
      "%d of %d machines stand out at one time by their counters, each in its own way: that tells nothing about any of "
      "them.",
      reason.machines, reason.all);
}

std::string Sentence(const InputNote& reason) { return reason.text; }

}  // namespace lockstep
