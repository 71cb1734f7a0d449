#include "detector/verdict/network_reasons.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

std::string Subject(const PathPlace& place) {
  switch (place.kind) {
    case PathCauseKind::kSend:
    case PathCauseKind::kReceive:
    case PathCauseKind::kNic:
      if (place.ranks.size() != 1) break;
      return Text(RankName{.rank = place.ranks[0], .host = place.hosts.empty() ? "" : place.hosts[0]});
    case PathCauseKind::kLink:
      return absl::StrCat("host ", place.hosts[0], " and host ", place.hosts[1]);
    case PathCauseKind::kGroup:
    case PathCauseKind::kWithin:
      return Text(place.ranks);
    case PathCauseKind::kHost:
    case PathCauseKind::kHosts:
    case PathCauseKind::kInside:
    case PathCauseKind::kFabric:
      break;
  }
  if (place.hosts.size() == 1) return absl::StrCat("host ", place.hosts[0]);
  return absl::StrCat("the ", place.hosts.size(), " hosts from ", place.hosts.front(), " to ", place.hosts.back());
}

// Which transfers are meant.
std::string TransfersOf(const PathPlace& place) {
  const std::string subject = Subject(place);
  switch (place.kind) {
    case PathCauseKind::kSend:
      return absl::StrCat("What ", subject, " sends");
    case PathCauseKind::kReceive:
      return absl::StrCat("What ", subject, " receives");
    case PathCauseKind::kNic:
      return absl::StrCat("What ", subject, " sends or receives");
    case PathCauseKind::kHost:
      return absl::StrCat("What enters or leaves ", subject);
    case PathCauseKind::kFabric:
      return absl::StrCat("What goes between ", subject, " and the others");
    case PathCauseKind::kInside:
      return absl::StrCat("What goes between the GPUs of ", subject);
    case PathCauseKind::kLink:
    case PathCauseKind::kGroup:
    case PathCauseKind::kWithin:
    case PathCauseKind::kHosts:
      break;
  }
  return absl::StrCat("What goes between ", subject);
}

std::string When(const SlowPathTransfers& reason) {
  if (!reason.in_some_steps) return absl::StrFormat("from step %d on", reason.first_step);
  return absl::StrFormat("in %d of the steps from %d to %d", reason.slow_steps, reason.first_step, reason.last_step);
}

}  // namespace

std::string Sentence(const SlowPathTransfers& reason) {
  return absl::StrFormat(
      "%s takes %.2f times as long as %s, %s, on %d of the %d paths that have this in common; %d paths were "
      "compared.%s",
      TransfersOf(reason.place), reason.times, reason.against_past ? "before" : "the same transfers elsewhere",
      When(reason), reason.paths, reason.predicted, reason.compared,
      reason.may_be_built_so ? " Nothing was quicker before: networks are built with fewer ways between their parts, "
                               "and no host is named for that."
                             : "");
}

std::string Sentence(const StalledTransfers& reason) {
  return absl::StrFormat(
      "In %d of the steps from %d to %d, transfers on %d of %d paths took about %.3g s longer in all, where a usual "
      "step takes %.3g s; %s %s%s%s.",
      reason.steps, reason.first_step, reason.last_step, reason.stalled_paths, reason.compared_paths, reason.seconds,
      reason.usual_step_seconds, reason.told_apart ? "all of them touch one side of" : "they lie between ends of",
      reason.hosts == 1 ? "host " : absl::StrCat(reason.hosts, " hosts: "), absl::StrJoin(reason.named_hosts, ", "),
      reason.named_hosts.size() < reason.hosts ? ", ..." : "");
}

std::string Sentence(const CounterfactualTransfers& reason) {
  return absl::StrFormat("%s at the usual transfer time, a step would be %.1f ms (%.1f %%) shorter.",
                         reason.replayed ? "Replayed" : "By its excess,", 1e3 * reason.seconds_per_step,
                         100 * reason.share);
}

std::string Sentence(const LongerWaits& reason) {
  return absl::StrFormat(
      "%s waits %.1f times as long for the network (on the wire and for credit that no GPU holds back) as the same "
      "traffic elsewhere, in both halves of %.0f s in which recorders watched: on %d of the %d flows that this would "
      "slow down, of %d compared; from %.2f times on a flow counts as slow.",
      TransfersOf(reason.place), reason.times, reason.watched_seconds, reason.flows, reason.predicted, reason.compared,
      reason.limit);
}

std::string Sentence(const UsualWaitsStep& reason) {
  return absl::StrFormat("Steps take %s, %s longer than usual; at the usual waits they would be %s shorter.",
                         Duration(reason.step_seconds), Duration(reason.lost_seconds), Duration(reason.saved_seconds));
}

std::string Sentence(const LateGpu& reason) {
  return absl::StrFormat(
      "Data that had arrived waited for the GPU of rank %d %.1f times as long as for those of others, while none of %d "
      "network flows was %.2f times as slow as its like: this rank comes late, and it is not the network.",
      reason.rank, reason.times, reason.flows, reason.limit);
}

std::string Sentence(const NetworkClear& reason) {
  return absl::StrFormat(
      "None of %d network flows, watched for %.0f s, waits %.2f times as long as its like: it is not the network.",
      reason.flows, reason.watched_seconds, reason.limit);
}

}  // namespace lockstep
