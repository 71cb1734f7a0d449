#include "detector/verdict/slow_reasons.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

// By SlowKind: the excess lies "...".
constexpr const char* kPlaces[] = {
    "in proportion to its work: the GPU computes slowly",
    "on the side of the host, which issues work late",
    "at one place of the step, as when it waits for its input",
};

// The rank, or its host with so many of its ranks.
std::string Subject(const RankName& name, uint64_t host_ranks) {
  const std::string rank = Capitalized(Text(name));
  if (host_ranks == 0) return rank;
  return absl::StrCat("Host ", name.host, ": ", host_ranks, " of its ranks, ", rank, " first,");
}

}  // namespace

std::string Sentence(const OwnTimeExcess& reason) {
  const std::string subject = Subject(reason.rank, reason.host_ranks);
  return absl::StrFormat(
      "%s spends %.4g s of each step on its own work, outside all waiting, while its %d peers spend %.4g s: %.4g s "
      "more in %.0f%% of steps %d to %d, %.1f standard errors of the noise.",
      subject, reason.own_seconds, reason.peers, reason.peer_seconds, reason.excess_seconds,
      100 * reason.share_of_steps, reason.first_step, reason.last_step, reason.significance);
}

std::string Sentence(const GrewAlone& reason) {
  const std::string steps =
      reason.share_of_steps < 1 ? absl::StrFormat("%.0f%% of the steps", 100 * reason.share_of_steps) : "each step";
  return absl::StrFormat(
      "%s spends %.4g s of %s on its own work since step %d, and %.4g s %s: %.1f standard errors of the noise. No "
      "other "
      "host's work changed then; nobody of equal duty is elsewhere to compare with.",
      Subject(reason.rank, reason.host_ranks), reason.own_seconds, steps, reason.first_step, reason.before_seconds,
      reason.share_of_steps < 1 ? "of the others" : "before", reason.significance);
}

std::string Sentence(const HostWaitLeftOut&) {
  return "All ranks of its host wait at one place of the step; that is taken off here, and the peers are the other "
         "ranks of the host.";
}

std::string Sentence(const HiddenPeerWork& reason) {
  return absl::StrFormat(
      "Its peers do part of their work unseen, beside operations that wait in line. By the part that is seen of both, "
      "a healthy rank would need %.4g s of the %.4g s.",
      reason.needed_seconds, reason.own_seconds);
}

std::string Sentence(const LateReturn& reason) {
  return absl::StrFormat(
      "In %d of the %d pauses of the job since step %d, host %s comes back last, in the middle one %.4g s after all "
      "others: what it reads or writes then takes longer.",
      reason.late, reason.pauses, reason.first_step, reason.host, reason.later_seconds);
}

std::string Sentence(const ExcessPlace& reason) {
  return absl::StrCat("The excess lies ", kPlaces[static_cast<size_t>(reason.kind)], ".");
}

std::string Sentence(const DutyOfPlace& reason) {
  if (reason.place == DutyOfPlace::Place::kOfReplica) {
    return absl::StrFormat(
        "%d of the %d ranks that have this place in their replicas stall like that, on %d hosts, since the records "
        "begin: they wait for one thing, and their machines are not shown to be slow. Check what they read, and from "
        "where.",
        reason.ranks, reason.of_ranks, reason.hosts);
  }
  return absl::StrFormat(
      "It is the %s rank of the job, and it was so since the records begin: programs let that rank log, keep metadata "
      "or read for others. Its machine is not shown to be slow. If the program does nothing there, check what the host "
      "reads and writes.",
      reason.place == DutyOfPlace::Place::kFirst ? "first" : "last");
}

std::string Sentence(const LateLaunches&) {
  return "Its ranks take turns: operations start the moment they are launched, while those of other hosts wait in the "
         "queue. The host no longer runs ahead of its GPUs.";
}

std::string Sentence(const OtherSteps& reason) {
  return absl::StrFormat(
      "In its other steps it spends %.4g s. Its peers are rarely that slow: chance does not explain it.",
      reason.seconds);
}

std::string Sentence(const CriticalPathShare& reason) {
  return absl::StrFormat(
      "Walking back from the end of a typical step, from each operation to whoever arrived last, %.0f%% of the way is "
      "own work of %s.",
      100 * reason.share, reason.of_host ? "this host" : "this rank");
}

std::string Sentence(const CounterfactualOwnTime& reason) {
  return absl::StrFormat(
      "%s with the own time of its peers, an affected step would take %.4g s less of %.4g s (%.1f%%).",
      reason.replayed ? "Replayed" : "Against its own past,", reason.seconds, reason.step_seconds,
      100 * reason.seconds / std::max(reason.step_seconds, 1e-9));
}

std::string Sentence(const SameEvent& reason) {
  return absl::StrFormat(
      "One of %d that became slow in the same way at the same step. What each costs hides behind the others: with all "
      "that seem cheap removed after all else, steps would be %.1f%% shorter.",
      reason.causes, 100 * reason.share);
}

std::string Sentence(const SharedCost& reason) {
  return absl::StrFormat(
      "Findings hide behind one another: removed alone this one gives back %.1f%%, with the others gone %.1f%%, and of "
      "what all have cost together %.1f%% is its part.",
      100 * reason.now_share, 100 * reason.beside_share, 100 * reason.part_share);
}

}  // namespace lockstep
