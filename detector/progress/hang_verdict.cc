#include "detector/progress/hang_verdict.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/tuning.h"
#include "detector/wording.h"

namespace lockstep {
namespace {

constexpr double kSureConfidence = 0.97;
constexpr double kLikelyConfidence = 0.8;

double Seconds(int64_t ns) { return static_cast<double>(ns) / kNanosPerSecond; }

std::string OperationName(const HangContext& context, const Hang& hang) {
  return absl::StrCat(Name(hang.operation), " ", hang.sequence, " on ",
                      CommunicatorName(context.roster->communicators()[static_cast<size_t>(hang.communicator_slot)]));
}

// What the state of the process says; empty = nothing out of the ordinary.
std::string StateSentence(const RankProcess& rank) {
  switch (rank.state) {
    case ProcessState::kStopped:
      return absl::StrCat("Process ", rank.pid, " of rank ", rank.rank,
                          " is stopped by a signal or a debugger (state T).");
    case ProcessState::kUninterruptible:
      return absl::StrCat("Process ", rank.pid, " of rank ", rank.rank,
                          " waits for a device or a file system and cannot be interrupted (state D).");
    case ProcessState::kZombie:
    case ProcessState::kGone:
      return absl::StrCat("Process ", rank.pid, " of rank ", rank.rank, " is dead.");
    case ProcessState::kRunning:
    case ProcessState::kUnknown:
      break;
  }
  return "";
}

// " (ring, LL128, 16 channels)"; empty when nothing is known.
std::string InBrackets(const Tuning& tuning) {
  const std::string text = Describe(tuning);
  return text.empty() ? "" : absl::StrCat(" (", text, ")");
}

Verdict Begin(const HangContext& context) {
  Verdict verdict;
  verdict.scope = VerdictScope::kMachine;
  verdict.first_step = verdict.last_step = context.step;
  verdict.cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1};
  return verdict;
}

void AddWaiting(const HangContext& context, const Hang& hang, Verdict* verdict) {
  std::string text =
      absl::StrFormat("%d %s inside, the longest for %s", hang.waiting, hang.waiting == 1 ? "rank waits" : "ranks wait",
                      Duration(Seconds(hang.longest_wait_ns)));
  if (context.longest_usual_step_seconds > 0) {
    absl::StrAppend(&text, "; the longest usual step of this job takes ", Duration(context.longest_usual_step_seconds));
  }
  verdict->evidence.push_back({EvidenceKind::kProgress, absl::StrCat(text, ".")});
  verdict->first_seen_ns = context.watermark_ns - hang.longest_wait_ns;
  std::vector<int32_t> victims;
  for (const int32_t slot : hang.victims) {
    if (std::find(hang.culprits.begin(), hang.culprits.end(), slot) == hang.culprits.end()) victims.push_back(slot);
  }
  std::sort(victims.begin(), victims.end());
  victims.erase(std::unique(victims.begin(), victims.end()), victims.end());
  if (victims.empty()) return;
  std::string names = RankList(*context.roster, victims);
  names[0] = 'R';
  verdict->evidence.push_back(
      {EvidenceKind::kProgress,
       absl::StrCat(names, victims.size() == 1 ? " only waits: it is a victim." : " only wait: they are victims.")});
}

void AddLog(const HangContext& context, Verdict* verdict) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : verdict->culprits) hosts.insert(culprit.host);
  for (const std::string& host : hosts) {
    for (Evidence& evidence : context.log->About(host, context.watermark_ns)) {
      if (verdict->advice == Advice::kCheckSoftware) verdict->advice = Advice::kCordonAndReplace;
      verdict->evidence.push_back(std::move(evidence));
    }
  }
}

Verdict OfMissingRank(const HangContext& context, const Hang& hang) {
  const Roster& roster = *context.roster;
  const int32_t slot = hang.culprits.front();
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(slot)];
  Verdict verdict = Begin(context);
  verdict.verdict_class = rank.dead() ? VerdictClass::kProcessDead : VerdictClass::kHangNotEntered;
  verdict.culprits = {CulpritOf(roster, slot, kSureConfidence)};
  verdict.advice =
      rank.state == ProcessState::kStopped || rank.dead() ? Advice::kCheckSoftware : Advice::kCordonAndReplace;
  verdict.evidence.push_back(
      {EvidenceKind::kProgress, absl::StrCat(FullRankName(roster, slot), " has not entered ",
                                             OperationName(context, hang), " and waits for nobody itself.")});
  const std::string state = StateSentence(rank);
  if (!state.empty()) verdict.evidence.push_back({EvidenceKind::kProgress, state});
  AddWaiting(context, hang, &verdict);
  return verdict;
}

Verdict OfStuckOperation(const HangContext& context, const Hang& hang) {
  const Roster& roster = *context.roster;
  Verdict verdict = Begin(context);
  verdict.verdict_class = VerdictClass::kHangInCommunication;
  const bool one = hang.culprits.size() == 1;
  const RankProcess& first = roster.ranks()[static_cast<size_t>(hang.culprits.front())];
  const std::string state = one ? StateSentence(first) : "";
  if (one && first.dead()) verdict.verdict_class = VerdictClass::kProcessDead;
  const bool named = one && (hang.certain || !state.empty());
  verdict.scope = named ? VerdictScope::kMachine : VerdictScope::kNetwork;
  const double confidence =
      named ? (state.empty() ? kLikelyConfidence : kSureConfidence) : 1.0 / static_cast<double>(hang.culprits.size());
  for (const int32_t slot : hang.culprits) verdict.culprits.push_back(CulpritOf(roster, slot, confidence));
  verdict.advice = !named ? Advice::kCheckLink : (state.empty() ? Advice::kCordonAndReplace : Advice::kCheckSoftware);
  if (named) {
    verdict.evidence.push_back(
        {EvidenceKind::kProgress,
         absl::StrCat(FullRankName(roster, hang.culprits.front()), " entered ", OperationName(context, hang),
                      InBrackets(hang.tuning), " and does not get out of it.")});
  } else {
    verdict.evidence.push_back(
        {EvidenceKind::kProgress,
         absl::StrCat("All members have entered ", OperationName(context, hang), InBrackets(hang.tuning),
                      " and run, but it does not end: what is stuck lies between ", RankList(roster, hang.culprits),
                      ".")});
  }
  if (!state.empty()) verdict.evidence.push_back({EvidenceKind::kProgress, state});
  AddWaiting(context, hang, &verdict);
  return verdict;
}

Verdict OfSoftware(const HangContext& context, const Hang& hang) {
  const Roster& roster = *context.roster;
  Verdict verdict = Begin(context);
  verdict.scope = VerdictScope::kSoftware;
  verdict.advice = Advice::kCheckSoftware;
  for (const int32_t slot : hang.culprits) verdict.culprits.push_back(CulpritOf(roster, slot, kLikelyConfidence));
  const std::string ranks = RankList(roster, hang.culprits);
  const std::string subject = absl::StrCat("R", ranks.substr(1));
  if (hang.kind == HangKind::kMismatch && hang.other_tuning.has_value()) {
    verdict.verdict_class = VerdictClass::kCollectiveMismatch;
    verdict.evidence.push_back(
        {EvidenceKind::kProgress,
         absl::StrCat("Members carry out ", OperationName(context, hang), " in different ways, ",
                      hang.certain ? ranks : "some", " as \"", Describe(*hang.other_tuning), "\", the others as \"",
                      Describe(hang.tuning),
                      "\", so that they never meet: NCCL's settings or releases are not the same everywhere.")});
  } else if (hang.kind == HangKind::kMismatch) {
    verdict.verdict_class = VerdictClass::kCollectiveMismatch;
    verdict.evidence.push_back(
        {EvidenceKind::kProgress,
         absl::StrCat(subject,
                      " called another operation, or one of another size, than the other "
                      "members as operation ",
                      hang.sequence, " on ",
                      CommunicatorName(roster.communicators()[static_cast<size_t>(hang.communicator_slot)]), ".")});
  } else {
    verdict.verdict_class = VerdictClass::kDeadlock;
    verdict.evidence.push_back({EvidenceKind::kProgress, absl::StrCat(subject,
                                                                      " wait for each other in different operations, "
                                                                      "among them ",
                                                                      OperationName(context, hang), ".")});
  }
  AddWaiting(context, hang, &verdict);
  return verdict;
}

Verdict OfDeadProcess(const HangContext& context, const DeadProcess& dead) {
  Verdict verdict = Begin(context);
  verdict.verdict_class = VerdictClass::kProcessDead;
  verdict.culprits = {CulpritOf(*context.roster, dead.rank_slot, kSureConfidence)};
  verdict.advice = Advice::kCheckSoftware;
  verdict.evidence.push_back(
      {EvidenceKind::kProgress, absl::StrFormat("%s died without ending in order; %d other %s still there.",
                                                FullRankName(*context.roster, dead.rank_slot), dead.others_alive,
                                                dead.others_alive == 1 ? "rank is" : "ranks are")});
  return verdict;
}

Verdict OfSilentHost(const HangContext& context, const SilentHost& silent) {
  const std::string& host = context.roster->hosts()[static_cast<size_t>(silent.host_slot)].name;
  Verdict verdict = Begin(context);
  verdict.verdict_class = VerdictClass::kMachineUnreachable;
  verdict.culprits = {{.host = host, .confidence = kLikelyConfidence}};
  verdict.advice = Advice::kCordonAndReplace;
  verdict.evidence.push_back(
      {EvidenceKind::kProgress,
       absl::StrFormat("Host %s has been silent for %s, while %d other %s; its %s took part in nothing since.", host,
                       Duration(Seconds(silent.silent_ns)), silent.hosts_reporting,
                       silent.hosts_reporting == 1 ? "host reports" : "hosts report",
                       RankList(*context.roster, silent.ranks))});
  return verdict;
}

}  // namespace

std::vector<Verdict> BuildHangVerdicts(const HangContext& context, const std::vector<Hang>& hangs,
                                       const std::vector<DeadProcess>& dead, const std::vector<SilentHost>& silent) {
  std::vector<Verdict> verdicts;
  std::set<int32_t> explained;
  for (const SilentHost& host : silent) {
    verdicts.push_back(OfSilentHost(context, host));
    explained.insert(host.ranks.begin(), host.ranks.end());
  }
  for (const DeadProcess& process : dead) {
    if (!explained.insert(process.rank_slot).second) continue;
    verdicts.push_back(OfDeadProcess(context, process));
  }
  for (const Hang& hang : hangs) {
    const bool known =
        std::any_of(hang.culprits.begin(), hang.culprits.end(), [&](int32_t slot) { return explained.contains(slot); });
    if (known) continue;
    if (hang.kind == HangKind::kNotEntered) {
      verdicts.push_back(OfMissingRank(context, hang));
    } else if (hang.kind == HangKind::kInCommunication) {
      verdicts.push_back(OfStuckOperation(context, hang));
    } else {
      verdicts.push_back(OfSoftware(context, hang));
    }
    if (hang.kind == HangKind::kNotEntered || hang.culprits.size() == 1) {
      explained.insert(hang.culprits.begin(), hang.culprits.end());
    }
  }
  for (Verdict& verdict : verdicts) AddLog(context, &verdict);
  return verdicts;
}

}  // namespace lockstep
