#include "detector/verdict/hang_reasons.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

// With how the operation is carried out, as far as known: " (ring, LL128, 16 channels)".
std::string WithTuning(const OperationName& operation, const Tuning& tuning) {
  const std::string way = Describe(tuning);
  return absl::StrCat(Text(operation), way.empty() ? "" : absl::StrCat(" (", way, ")"));
}

std::string Subject(const RankSet& set) {
  const bool one = set.ranks.size() == 1;
  return Capitalized(one ? Text(RankName{.rank = set.ranks[0], .host = set.host}) : Text(set.ranks));
}

}  // namespace

std::string Sentence(const HeldUpRanks& reason) {
  const bool one = reason.ranks.ranks.size() == 1;
  const std::string who = Subject(reason.ranks);
  switch (reason.how) {
    case HeldUp::kNotFinished:
      return absl::StrCat(who, one ? " does" : " do", " not get out of ", WithTuning(reason.operation, reason.tuning),
                          ", which other members have finished: all had entered it, so what is stuck is ",
                          one ? "its GPU." : "their GPUs.");
    case HeldUp::kNotLeft:
      return absl::StrCat(who, one ? " has" : " have", " entered ", WithTuning(reason.operation, reason.tuning), " and",
                          one ? " does" : " do", " not get out of it.");
    case HeldUp::kNotBegun:
      return absl::StrCat("The host of ", Text(reason.ranks.ranks), " has called ", Text(reason.operation),
                          " and the GPU has not begun it: it is stuck in earlier work of its own.");
    case HeldUp::kStoppedCalling:
      return absl::StrCat(
          who, one ? " stands" : " stand", " at ", WithTuning(reason.operation, reason.tuning),
          " and stopped calling, while the hosts of all other members went on until their queues were full: ",
          one ? "its process is" : "their processes are", " dead or halted.");
    case HeldUp::kOneNotEntered:
      return absl::StrCat("None of ", Text(reason.ranks.ranks), " left a record of ", Text(reason.operation),
                          ". Records are lost here and there, so that only one of them need be missing from it; "
                          "nothing tells which.");
    case HeldUp::kEachByItself:
      return absl::StrCat(who, " hold up others in many places, such as ", Text(reason.operation),
                          ", each by itself. So many causes do not come at once: they wait for something that the "
                          "records do not show.");
    case HeldUp::kNotEntered:
      break;
  }
  return absl::StrCat(who, one ? " has" : " have", " not entered ", Text(reason.operation),
                      one ? " and waits" : " and wait", " for nobody.");
}

std::string Sentence(const ProcessCannotRun& reason) {
  const std::string process = absl::StrCat("The process of rank ", reason.rank);
  switch (reason.state) {
    case ProcessState::kStopped:
      return absl::StrCat(process, " is stopped by a signal or a debugger (state T).");
    case ProcessState::kUninterruptible:
      return absl::StrCat(process, " waits for a device or a file system and cannot be interrupted (state D).");
    default:
      return absl::StrCat(process, " is dead.");
  }
}

std::string Sentence(const Waiters& reason) {
  std::string text =
      absl::StrFormat("%d of %d ranks wait for it, %d of them there", reason.victims, reason.ranks, reason.waiting);
  if (reason.live) {
    absl::StrAppend(&text, ", the longest for ", Duration(reason.waited_seconds));
  } else if (reason.waited_seconds >= 1) {
    absl::StrAppend(&text, "; the clock of one host shows a wait of at least ", Duration(reason.waited_seconds));
  }
  if (reason.longest_usual_step_seconds > 0) {
    absl::StrAppend(&text, "; the longest usual step of this job takes ", Duration(reason.longest_usual_step_seconds));
  }
  return text + ".";
}

std::string Sentence(const Victims& reason) {
  const bool one = reason.ranks.size() + reason.more == 1;
  return absl::StrCat(Capitalized(Text(reason.ranks)),
                      reason.more > 0 ? absl::StrCat(" and ", reason.more, " more") : "",
                      one ? " only waits: it is a victim." : " only wait: they are victims.");
}

std::string Sentence(const HostSilence& reason) {
  return absl::StrFormat(
      "Host %s has been silent for %s, while others report; nothing shows that its %d ranks took part in anything "
      "since.",
      reason.host, Duration(reason.silent_seconds), reason.ranks);
}

std::string Sentence(const JobSilence& reason) {
  return absl::StrFormat(
      "Host %s has been silent for %s, and with it all of the job, while %d other %s: the machine, its network or its "
      "agent is gone. What became of its %s is not known.",
      reason.host, Duration(reason.silent_seconds), reason.others_reporting,
      reason.others_reporting == 1 ? "host of the fleet reports" : "hosts of the fleet report",
      reason.ranks == 1 ? "rank" : absl::StrCat(reason.ranks, " ranks"));
}

std::string Sentence(const HostRecordsEnd& reason) {
  return absl::StrFormat(
      "All %d ranks of host %s leave records up to the same moment and none after it, not even of an operation begun, "
      "while others wait in %s.",
      reason.ranks, reason.host, Text(reason.waited_in));
}

std::string Sentence(const DeadProcesses& reason) {
  return absl::StrFormat("%d of %d processes %s dead; the others are still there.", reason.dead, reason.all,
                         reason.dead == 1 ? "is" : "are");
}

std::string Sentence(const MembersWithoutRecord& reason) {
  return absl::StrCat(Capitalized(Text(reason.ranks)), " left no record at all, and every other member stands in ",
                      Text(reason.operation), ": silence of a member that others wait for is not innocence.");
}

std::string Sentence(const HolderUnknown& reason) {
  std::vector<std::string> gaps;
  const uint64_t unrecorded = reason.unrecorded.size() + reason.more_unrecorded;
  if (unrecorded > 0) {
    const std::string who =
        reason.unrecorded.empty()
            ? absl::StrCat(unrecorded, unrecorded == 1 ? " member" : " members")
            : absl::StrCat(Text(reason.unrecorded),
                           reason.more_unrecorded > 0 ? absl::StrCat(" and ", reason.more_unrecorded, " more") : "");
    gaps.push_back(absl::StrCat("of ", who, " nothing was recorded there, not even what ended before, so that ",
                                "silence does not tell who is missing"));
  }
  if (!reason.begins_seen) gaps.push_back("when GPUs begin was not recorded, and one may be stuck in earlier work");
  if (!reason.sizes_known) gaps.push_back("sizes were not recorded, and calls of different sizes do not end");
  return absl::StrCat(reason.inside, reason.inside == 1 ? " member has" : " members have", " come to ",
                      Text(reason.operation),
                      ", which does not end. Who holds it is not known: ", absl::StrJoin(gaps, "; "), ".");
}

std::string Sentence(const StuckTransfer& reason) {
  return absl::StrCat("All members have entered ", WithTuning(reason.operation, reason.tuning),
                      " and it does not end: what is stuck is the transfer between ", Text(reason.ranks), ".",
                      reason.sizes_known ? "" : " Sizes were not recorded: that one called another size is possible.");
}

std::string Sentence(const DifferentTuning& reason) {
  return absl::StrCat("Members carry out ", Text(reason.operation), " in different ways, ", Text(reason.ranks),
                      " as \"", Describe(reason.theirs), "\", the usual way is \"", Describe(reason.usual),
                      "\": they never meet. NCCL's settings or releases are not the same everywhere.");
}

std::string Sentence(const DifferentCall& reason) {
  return absl::StrCat(Capitalized(Text(reason.ranks)),
                      " called another operation, or another size, than the other members as operation ",
                      reason.operation.sequence, " of ", Text(reason.operation.communicator), ".");
}

std::string Sentence(const DifferentOrder& reason) {
  return absl::StrCat(Capitalized(Text(reason.ranks)),
                      " entered operations in another order than the ranks that they wait for and that wait for them; "
                      "among the operations is ",
                      Text(reason.operation), ".");
}

std::string Sentence(const NothingFinishedSince&) {
  return "The job stands still, and this GPU has finished nothing since.";
}

}  // namespace lockstep
