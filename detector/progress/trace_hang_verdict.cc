#include "detector/progress/trace_hang_verdict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/evidence_log.h"
#include "detector/progress/trace_frontier.h"
#include "detector/trace/trace_wording.h"

namespace lockstep {
namespace {

constexpr double kSureConfidence = 0.97;
constexpr double kLikelyConfidence = 0.8;
constexpr double kUnseenConfidence = 0.6;  // of a rank about which there is no record at all
constexpr size_t kMaxQuotedEvents = 3;
constexpr int64_t kEventSlackNs = kNanosPerSecond;  // between the clock of the log and that of the recorder

class Writer {
 public:
  Writer(const Trace& trace, const TraceHangSearch& search, absl::Span<const HostEvent> events)
      : trace_(trace), search_(search), events_(events) {
    ranks_on_host_.assign(trace.hosts.size(), 0);
    for (const TraceRank& rank : trace.ranks) {
      if (rank.host >= 0) ++ranks_on_host_[static_cast<size_t>(rank.host)];
    }
  }

  std::vector<Verdict> Run() {
    std::vector<Verdict> verdicts;
    for (const TraceHang& hang : search_.hangs) {
      switch (hang.kind) {
        case TraceHangKind::kNotEntered:
        case TraceHangKind::kNotFinished:
          AddMissing(hang, &verdicts);
          break;
        case TraceHangKind::kTransfer:
          verdicts.push_back(OfTransfer(hang));
          break;
        case TraceHangKind::kMismatch:
        case TraceHangKind::kDeadlock:
          verdicts.push_back(OfSoftware(hang));
          break;
      }
    }
    return verdicts;
  }

 private:
  const TraceRank& Rank(int32_t index) const { return trace_.ranks[static_cast<size_t>(index)]; }

  Verdict Begin(VerdictScope scope, VerdictClass verdict_class, Advice advice) const {
    return {.scope = scope,
            .verdict_class = verdict_class,
            .cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1},
            .advice = advice};
  }

  void Say(std::string text, Verdict* verdict) const {
    verdict->evidence.push_back({EvidenceKind::kProgress, std::move(text)});
  }

  std::string OperationName(const TraceHang& hang) const {
    return absl::StrCat(Name(hang.operation), " ", hang.sequence, " of ",
                        TraceCommunicatorName(trace_, hang.communicator));
  }

  void SayVictims(const TraceHang& hang, Verdict* verdict) const {
    std::string text = absl::StrFormat("%d of %d ranks wait for it, %d of them there", hang.victims,
                                       trace_.ranks.size(), hang.waiting);
    if (hang.waited_ns >= kNanosPerSecond) {
      absl::StrAppend(&text, absl::StrFormat("; the clock of one host shows a wait of at least %.1f s",
                                             static_cast<double>(hang.waited_ns) / kNanosPerSecond));
    }
    Say(absl::StrCat(text, "."), verdict);
  }

  // Events that mean a broken GPU on the host, and of this process where the event names one.
  std::vector<const HostEvent*> BrokenGpu(int32_t rank) const {
    std::vector<const HostEvent*> found;
    const std::string host = HostNameOf(trace_, rank);
    for (const HostEvent& event : events_) {
      if (event.host != host || !MeansBrokenGpu(event.event)) continue;
      if (event.event.pid != 0 && Rank(rank).pid != 0 && event.event.pid != Rank(rank).pid) continue;
      if (found.size() < kMaxQuotedEvents) found.push_back(&event);
    }
    return found;
  }

  bool Dead(int32_t rank) const {
    return Rank(rank).process_state == ProcessState::kGone || Rank(rank).process_state == ProcessState::kZombie;
  }

  // Hosts of which no rank stands at an operation, when there are several or when the records of the one end before
  // what others prove that it did: with the missing one, all of them are gone.
  std::set<int32_t> SilentHosts(const std::vector<int32_t>& ranks) const {
    std::set<int32_t> hosts;
    for (const int32_t rank : ranks) {
      const bool unseen = std::binary_search(search_.unseen_ranks.begin(), search_.unseen_ranks.end(), rank);
      if (Rank(rank).host >= 0 && (unseen || ranks_on_host_[static_cast<size_t>(Rank(rank).host)] > 1)) {
        hosts.insert(Rank(rank).host);
      }
    }
    for (const int32_t rank : search_.standing_ranks) hosts.erase(Rank(rank).host);
    return hosts;
  }

  void AddMissing(const TraceHang& hang, std::vector<Verdict>* verdicts) {
    const std::set<int32_t> silent = hang.called ? std::set<int32_t>{} : SilentHosts(hang.ranks);
    std::set<int32_t> unnamed;  // a host whose ranks are missing in many places is one cause
    for (const int32_t host : silent) {
      if (silent_named_.insert(host).second) unnamed.insert(host);
    }
    std::vector<int32_t> dead;
    std::vector<int32_t> broken;
    std::vector<int32_t> others;
    for (const int32_t rank : hang.ranks) {
      if (silent.contains(Rank(rank).host)) continue;
      (Dead(rank) ? dead : BrokenGpu(rank).empty() ? others : broken).push_back(rank);
    }
    if (!unnamed.empty()) verdicts->push_back(OfSilentHosts(hang, unnamed));
    if (!dead.empty()) verdicts->push_back(OfRanks(hang, dead, VerdictClass::kProcessDead));
    if (!broken.empty()) verdicts->push_back(OfRanks(hang, broken, VerdictClass::kGpuFault));
    if (!others.empty()) verdicts->push_back(OfRanks(hang, others, ClassOf(hang)));
    if (!hang.unrecorded.empty()) verdicts->push_back(OfUnrecorded(hang));
  }

  static VerdictClass ClassOf(const TraceHang& hang) {
    return hang.kind == TraceHangKind::kNotEntered ? VerdictClass::kHangNotEntered : VerdictClass::kHangInCommunication;
  }

  Verdict OfRanks(const TraceHang& hang, const std::vector<int32_t>& ranks, VerdictClass verdict_class) const {
    const bool dead = verdict_class == VerdictClass::kProcessDead;
    Verdict verdict =
        Begin(VerdictScope::kMachine, verdict_class, dead ? Advice::kCheckSoftware : Advice::kCordonAndReplace);
    for (const int32_t rank : ranks) verdict.culprits.push_back(TraceCulprit(trace_, rank, kSureConfidence));
    std::string who = ranks.size() == 1 ? TraceRankName(trace_, ranks[0]) : TraceRankList(trace_, ranks);
    who[0] = 'R';
    const bool one = ranks.size() == 1;
    if (hang.kind == TraceHangKind::kNotFinished) {
      Say(absl::StrCat(who, one ? " does" : " do", " not get out of ", OperationName(hang),
                       ", which other members have finished: all had entered it, so what is stuck is ",
                       one ? "its GPU." : "their GPUs."),
          &verdict);
    } else if (hang.called) {
      Say(absl::StrCat("The host of ", TraceRankList(trace_, ranks), " has called ", OperationName(hang),
                       " and the GPU has not begun it: it is stuck in earlier work of its own."),
          &verdict);
    } else {
      Say(absl::StrCat(who, one ? " has" : " have", " not entered ", OperationName(hang),
                       one ? " and waits" : " and wait", " for nobody."),
          &verdict);
    }
    for (const int32_t rank : ranks) {
      if (Dead(rank)) Say(absl::StrCat("The process of ", TraceRankList(trace_, {rank}), " is dead."), &verdict);
      for (const HostEvent* const event : BrokenGpu(rank)) {
        verdict.evidence.push_back({EvidenceKind::kLog, absl::StrCat("The kernel of host ", event->host, " reported ",
                                                                     Describe(event->event), ".")});
      }
    }
    SayVictims(hang, &verdict);
    return verdict;
  }

  Verdict OfSilentHosts(const TraceHang& hang, const std::set<int32_t>& hosts) const {
    Verdict verdict = Begin(VerdictScope::kMachine, VerdictClass::kMachineUnreachable, Advice::kCordonAndReplace);
    for (const int32_t host : hosts) {
      const std::string& name = trace_.hosts[static_cast<size_t>(host)];
      verdict.culprits.push_back({.host = name, .confidence = kLikelyConfidence});
      Say(absl::StrFormat("All %d ranks of host %s leave records up to the same moment and none after it, not even of "
                          "an operation begun, while others wait in %s.",
                          ranks_on_host_[static_cast<size_t>(host)], name, OperationName(hang)),
          &verdict);
    }
    SayVictims(hang, &verdict);
    return verdict;
  }

  Verdict OfUnrecorded(const TraceHang& hang) const {
    Verdict verdict = Begin(VerdictScope::kMachine, VerdictClass::kHangNotEntered, Advice::kCordonAndReplace);
    for (const int32_t rank : hang.unrecorded) {
      Culprit culprit{.rank = rank, .confidence = kUnseenConfidence};
      for (const TraceRank& known : trace_.ranks) {
        if (known.rank == rank && known.host >= 0) culprit.host = trace_.hosts[static_cast<size_t>(known.host)];
      }
      verdict.culprits.push_back(std::move(culprit));
    }
    std::string who = RankNumberList(hang.unrecorded);
    who[0] = 'R';
    Say(absl::StrCat(who, " left no record at all, and every other member stands in ", OperationName(hang),
                     ": silence of a member that others wait for is not innocence."),
        &verdict);
    SayVictims(hang, &verdict);
    return verdict;
  }

  Verdict OfTransfer(const TraceHang& hang) const {
    Verdict verdict = Begin(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, Advice::kCheckLink);
    const double share = kLikelyConfidence / static_cast<double>(std::max<size_t>(1, hang.ranks.size()));
    for (const int32_t rank : hang.ranks) verdict.culprits.push_back(TraceCulprit(trace_, rank, share));
    if (IsPointToPoint(hang.operation) && hang.ranks.size() == 2) {
      verdict.culprits[0].peer_host = verdict.culprits[1].host;
      verdict.culprits[1].peer_host = verdict.culprits[0].host;
    }
    Say(absl::StrCat("All members have entered ", OperationName(hang), " and none gets out: what is stuck is the ",
                     "transfer between ", TraceRankList(trace_, hang.ranks), "."),
        &verdict);
    SayVictims(hang, &verdict);
    return verdict;
  }

  Verdict OfSoftware(const TraceHang& hang) const {
    const bool mismatch = hang.kind == TraceHangKind::kMismatch;
    Verdict verdict =
        Begin(VerdictScope::kSoftware, mismatch ? VerdictClass::kCollectiveMismatch : VerdictClass::kDeadlock,
              Advice::kCheckSoftware);
    for (const int32_t rank : hang.ranks) verdict.culprits.push_back(TraceCulprit(trace_, rank, kLikelyConfidence));
    std::string who = TraceRankList(trace_, hang.ranks);
    who[0] = 'R';
    if (mismatch) {
      Say(absl::StrCat(who, " called another operation, or another size, than the other members as operation ",
                       hang.sequence, " of ", TraceCommunicatorName(trace_, hang.communicator), "."),
          &verdict);
    } else {
      Say(absl::StrCat(who, " entered operations in another order than the ranks that they wait for and that wait for ",
                       "them; among the operations is ", OperationName(hang), "."),
          &verdict);
    }
    SayVictims(hang, &verdict);
    return verdict;
  }

  const Trace& trace_;
  const TraceHangSearch& search_;
  absl::Span<const HostEvent> events_;
  std::vector<int32_t> ranks_on_host_;
  std::set<int32_t> silent_named_;
};

// Processes that are dead while most are not, and whom nobody waits for yet.
void AddSilentlyDead(const Trace& trace, std::vector<Verdict>* verdicts) {
  std::set<int32_t> named;
  for (const Verdict& verdict : *verdicts) {
    for (const Culprit& culprit : verdict.culprits) named.insert(culprit.rank);
  }
  size_t dead = 0;
  Verdict verdict{.scope = VerdictScope::kMachine,
                  .verdict_class = VerdictClass::kProcessDead,
                  .cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1},
                  .advice = Advice::kCheckSoftware};
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const ProcessState state = trace.ranks[rank].process_state;
    if (state != ProcessState::kGone && state != ProcessState::kZombie) continue;
    ++dead;
    if (named.contains(trace.ranks[rank].rank)) continue;
    verdict.culprits.push_back(TraceCulprit(trace, static_cast<int32_t>(rank), kSureConfidence));
  }
  if (verdict.culprits.empty() || 2 * dead > trace.ranks.size()) return;
  verdict.evidence.push_back(
      {EvidenceKind::kProgress,
       absl::StrFormat("%d of %d processes are dead; the others are still there.", dead, trace.ranks.size())});
  verdicts->push_back(std::move(verdict));
}

// The only rank that an event can be about; -1 = none, or several.
int32_t RankOf(const Trace& trace, const HostEvent& event) {
  int32_t found = -1;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const TraceRank& who = trace.ranks[rank];
    if (HostNameOf(trace, static_cast<int32_t>(rank)) != event.host) continue;
    const bool by_pid = event.event.pid != 0 && who.pid != 0;
    const bool same =
        by_pid ? event.event.pid == who.pid : who.gpu >= 0 && event.event.device == absl::StrCat("gpu", who.gpu);
    if (!same) continue;
    if (found >= 0) return -1;
    found = static_cast<int32_t>(rank);
  }
  return found;
}

bool FinishedLater(const Trace& trace, int32_t rank, int64_t host_ns) {
  const absl::Span<const TraceOperation> operations = trace.OperationsOf(static_cast<size_t>(rank));
  return std::any_of(operations.begin(), operations.end(), [host_ns](const TraceOperation& operation) {
    return operation.finished() && operation.end_ns > host_ns + kEventSlackNs;
  });
}

// By rank index: the kernel calls its GPU broken, and it has finished nothing since.
std::vector<char> BrokenGpus(const Trace& trace, absl::Span<const HostEvent> events) {
  std::vector<char> broken(trace.ranks.size(), 0);
  for (const HostEvent& event : events) {
    const int32_t rank = MeansBrokenGpu(event.event) ? RankOf(trace, event) : -1;
    if (rank >= 0 && !FinishedLater(trace, rank, event.event.host_ns)) broken[static_cast<size_t>(rank)] = 1;
  }
  return broken;
}

// Where waits alone do not tell a hang, the kernel's word about who is waited for does.
void BelieveTheKernel(const Trace& trace, absl::Span<const HostEvent> events, TraceHangSearch* search) {
  if (search->end == TraceEnd::kHung) return;
  const std::vector<char> broken = BrokenGpus(trace, events);
  std::vector<TraceHang> hangs = search->hangs;
  for (TraceHang& hang : hangs) {
    std::erase_if(hang.ranks, [&](int32_t rank) { return broken[static_cast<size_t>(rank)] == 0; });
  }
  std::erase_if(hangs, [](const TraceHang& hang) { return hang.ranks.empty(); });
  if (hangs.empty()) return;
  search->hangs = std::move(hangs);
  search->end = TraceEnd::kHung;
}

// In a hang, GPUs that the kernel calls broken, that finished nothing since, and whom nobody waits for yet: behind a
// first one a second does not show.
void AddSilentlyBroken(const Trace& trace, absl::Span<const HostEvent> events, std::vector<Verdict>* verdicts) {
  std::set<std::string> hosts_named;
  for (const Verdict& verdict : *verdicts) {
    for (const Culprit& culprit : verdict.culprits) hosts_named.insert(culprit.host);
  }
  for (const HostEvent& event : events) {
    if (!MeansBrokenGpu(event.event) || hosts_named.contains(event.host)) continue;
    const int32_t rank = RankOf(trace, event);
    if (rank < 0 || FinishedLater(trace, rank, event.event.host_ns)) continue;
    hosts_named.insert(event.host);
    Verdict verdict{.scope = VerdictScope::kMachine,
                    .verdict_class = VerdictClass::kGpuFault,
                    .cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1},
                    .advice = Advice::kCordonAndReplace};
    verdict.culprits.push_back(TraceCulprit(trace, rank, kLikelyConfidence));
    verdict.evidence.push_back({EvidenceKind::kLog, absl::StrCat("The kernel of host ", event.host, " reported ",
                                                                 Describe(event.event), ".")});
    verdict.evidence.push_back(
        {EvidenceKind::kProgress, "The job stands still, and this GPU has finished nothing since."});
    verdicts->push_back(std::move(verdict));
  }
}

// What everybody waits for, where nothing tells whether it will pass.
std::string OpenQuestion(const Trace& trace, const TraceHangSearch& search) {
  const TraceHang& first = search.hangs.front();
  const std::string what =
      first.ranks.empty() ? TraceCommunicatorName(trace, first.communicator) : TraceRankList(trace, first.ranks);
  return absl::StrFormat(
      "The records end while %d of %d ranks wait for %s, and nothing lasts much longer than the longest of its kind "
      "before. Whether the job went on they do not tell: they would have to say when they were taken.",
      first.victims, trace.ranks.size(), what);
}

}  // namespace

std::vector<Verdict> TraceHangVerdicts(const Trace& trace, const TraceHangSearch& search,
                                       absl::Span<const HostEvent> events) {
  return Writer(trace, search, events).Run();
}

TraceHangFindings FindTraceHangs(const TraceFrontier& frontier, absl::Span<const HostEvent> events, bool stalls_pass) {
  const Trace& trace = frontier.trace();
  TraceHangSearch search = SearchTraceHangs(frontier, stalls_pass);
  BelieveTheKernel(trace, events, &search);
  TraceHangFindings findings;
  if (search.end == TraceEnd::kHung) {
    findings.verdicts = TraceHangVerdicts(trace, search, events);
    AddSilentlyBroken(trace, events, &findings.verdicts);
  }
  AddSilentlyDead(trace, &findings.verdicts);
  if (search.end == TraceEnd::kOpen && findings.verdicts.empty()) findings.open_question = OpenQuestion(trace, search);
  return findings;
}

}  // namespace lockstep
