#include "detector/hang/hang_verdict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "detector/hang/hang.h"
#include "detector/hang/hang_reason.h"
#include "detector/hardware/evidence_log.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

// As evidence_log.cc quotes.
constexpr size_t kMaxQuotedEvents = 3;

class Writer {
 public:
  Writer(const Frontier& frontier, const HangSearch& search, absl::Span<const HostEvent> events)
      : frontier_(frontier), trace_(frontier.trace()), search_(search), events_(events) {
    ranks_on_host_.assign(trace_.hosts.size(), 0);
    for (const TraceRank& rank : trace_.ranks) {
      if (rank.host >= 0) ++ranks_on_host_[static_cast<size_t>(rank.host)];
    }
  }

  std::vector<Verdict> Run() {
    for (const Hang& hang : search_.hangs) {
      switch (hang.kind) {
        case HangKind::kNotEntered:
        case HangKind::kNotFinished:
        case HangKind::kHalted:
          AddMissing(hang);
          break;
        case HangKind::kTransfer:
          verdicts_.push_back(OfTransfer(hang));
          break;
        case HangKind::kMismatch:
        case HangKind::kDeadlock:
          verdicts_.push_back(OfSoftware(hang));
          break;
      }
    }
    AddDead();
    AddSilent();
    return std::move(verdicts_);
  }

 private:
  const TraceRank& Rank(int32_t index) const { return trace_.ranks[static_cast<size_t>(index)]; }

  Verdict Begin(VerdictScope scope, VerdictClass verdict_class, Advice advice) const {
    Verdict verdict = Verdict::Accusation(scope, verdict_class);
    verdict.cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1};
    verdict.advice = advice;
    return verdict;
  }

  void Say(Reason reason, Verdict* verdict) const {
    verdict->evidence.push_back({EvidenceKind::kProgress, std::move(reason)});
  }

  void SayVictims(const Hang& hang, Verdict* verdict) const {
    if (frontier_.watch() != nullptr) verdict->first_seen_ns = frontier_.watch()->now_ns - hang.waited_ns;
    for (Reason& reason : AboutVictims(frontier_, hang)) Say(std::move(reason), verdict);
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

  // Hosts of which no rank stands at an operation, when there are several or when the records of the one end before
  // what others prove that it did: with the missing one, all of them are gone. A host that could be looked at long
  // after its last record is there.
  std::set<int32_t> SilentHosts(const std::vector<int32_t>& ranks) const {
    std::set<int32_t> hosts;
    for (const int32_t rank : ranks) {
      const bool unseen = std::binary_search(search_.unseen_ranks.begin(), search_.unseen_ranks.end(), rank);
      const bool several = frontier_.watch() == nullptr && Rank(rank).host >= 0 &&
                           ranks_on_host_[static_cast<size_t>(Rank(rank).host)] > 1;
      if (Rank(rank).host >= 0 && (unseen || several)) hosts.insert(Rank(rank).host);
    }
    for (const int32_t rank : search_.blocked_ranks) hosts.erase(Rank(rank).host);
    for (const int32_t rank : search_.quiet_ranks) hosts.erase(Rank(rank).host);
    return hosts;
  }

  void AddMissing(const Hang& hang) {
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
      (IsDead(Rank(rank)) ? dead : BrokenGpu(rank).empty() ? others : broken).push_back(rank);
    }
    if (!unnamed.empty()) AddSilentHosts(&hang, unnamed);
    AddRanks(hang, dead, VerdictClass::kProcessDead);
    AddRanks(hang, broken, VerdictClass::kGpuFault);
    AddRanks(hang, others, ClassOf(hang));
    if (!hang.unrecorded.empty()) verdicts_.push_back(OfUnrecorded(hang));
  }

  // In a watched job ranks come to light one after the other: one verdict for each, so that none changes its identity.
  void AddRanks(const Hang& hang, const std::vector<int32_t>& ranks, VerdictClass verdict_class) {
    if (ranks.empty()) return;
    if (frontier_.watch() == nullptr) {
      verdicts_.push_back(OfRanks(hang, ranks, verdict_class));
      return;
    }
    for (const int32_t rank : ranks) {
      if (rank_named_.insert(rank).second) verdicts_.push_back(OfRanks(hang, {rank}, verdict_class));
    }
  }

  static VerdictClass ClassOf(const Hang& hang) {
    return hang.kind == HangKind::kNotEntered ? VerdictClass::kHangNotEntered : VerdictClass::kHangInCommunication;
  }

  Verdict OfRanks(const Hang& hang, const std::vector<int32_t>& ranks, VerdictClass verdict_class) const {
    const bool software = std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) { return IsGone(Rank(rank)); });
    Verdict verdict =
        Begin(VerdictScope::kMachine, verdict_class, software ? Advice::kCheckSoftware : Advice::kCordonAndReplace);
    // That others are out and these are not may also be the last packet to them.
    const double confidence = hang.kind == HangKind::kNotFinished ? kLikelyConfidence : kPlainConfidence;
    for (const int32_t rank : ranks) verdict.culprits.push_back(TraceCulprit(trace_, rank, confidence));
    Say(WhatTheyDo(trace_, hang, ranks), &verdict);
    for (const int32_t rank : ranks) {
      if (const std::optional<ProcessCannotRun> state = StateOf(trace_, rank)) Say(*state, &verdict);
      for (const HostEvent* const event : BrokenGpu(rank)) {
        verdict.evidence.push_back({EvidenceKind::kLog, LineOf(event->host, event->event)});
      }
    }
    SayVictims(hang, &verdict);
    return verdict;
  }

  // `hang`: what others wait in; nullptr = nobody waits yet.
  void AddSilentHosts(const Hang* hang, const std::set<int32_t>& hosts) {
    for (auto host = hosts.begin(); host != hosts.end();) {
      Verdict verdict = Begin(VerdictScope::kMachine, VerdictClass::kMachineUnreachable, Advice::kCordonAndReplace);
      do {
        const std::string& name = trace_.hosts[static_cast<size_t>(*host)];
        verdict.culprits.push_back({.host = name, .confidence = kLikelyConfidence});
        Say(SilenceOf(frontier_, *host, ranks_on_host_[static_cast<size_t>(*host)], hang), &verdict);
        ++host;
      } while (frontier_.watch() == nullptr && host != hosts.end());
      if (hang != nullptr) SayVictims(*hang, &verdict);
      verdicts_.push_back(std::move(verdict));
    }
  }

  // Processes that died while others live on, and whom nobody waits for yet.
  void AddDead() {
    std::set<int32_t> named;
    for (const Verdict& verdict : verdicts_) {
      for (const Culprit& culprit : verdict.culprits) named.insert(culprit.rank);
    }
    Verdict verdict = Begin(VerdictScope::kMachine, VerdictClass::kProcessDead, Advice::kCheckSoftware);
    Say(DeadProcesses{.dead = frontier_.died().size(), .all = trace_.ranks.size()}, &verdict);
    for (const int32_t rank : frontier_.died()) {
      if (named.contains(Rank(rank).rank) || silent_named_.contains(Rank(rank).host)) continue;
      verdict.culprits.push_back(TraceCulprit(trace_, rank, kPlainConfidence));
      if (frontier_.watch() == nullptr) continue;
      verdicts_.push_back(verdict);
      verdict.culprits.clear();
    }
    if (!verdict.culprits.empty()) verdicts_.push_back(std::move(verdict));
  }

  void AddSilent() {
    const Watch* const watch = frontier_.watch();
    if (watch == nullptr) return;
    std::set<int32_t> hosts;
    for (size_t host = 0; host < watch->host_silent_ns.size(); ++host) {
      if (watch->host_silent_ns[host] > 0 && !silent_named_.contains(static_cast<int32_t>(host))) {
        hosts.insert(static_cast<int32_t>(host));
      }
    }
    AddSilentHosts(nullptr, hosts);
  }

  Verdict OfUnrecorded(const Hang& hang) const {
    Verdict verdict = Begin(VerdictScope::kMachine, VerdictClass::kHangNotEntered, Advice::kCordonAndReplace);
    for (const int32_t rank : hang.unrecorded) {
      Culprit culprit{.rank = rank, .confidence = kUnseenConfidence};
      for (const TraceRank& known : trace_.ranks) {
        if (known.rank == rank && known.host >= 0) culprit.host = trace_.hosts[static_cast<size_t>(known.host)];
      }
      verdict.culprits.push_back(std::move(culprit));
    }
    Say(MembersWithoutRecord{.ranks = hang.unrecorded, .operation = OperationOf(trace_, hang)}, &verdict);
    SayVictims(hang, &verdict);
    return verdict;
  }

  Verdict OfTransfer(const Hang& hang) const {
    Verdict verdict = Begin(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, Advice::kCheckLink);
    const double share = kLikelyConfidence / static_cast<double>(std::max<size_t>(1, hang.ranks.size()));
    for (const int32_t rank : hang.ranks) verdict.culprits.push_back(TraceCulprit(trace_, rank, share));
    if (IsPointToPoint(hang.operation) && hang.ranks.size() == 2) {
      verdict.culprits[0].peer_host = verdict.culprits[1].host;
      verdict.culprits[1].peer_host = verdict.culprits[0].host;
    }
    Say(
        StuckTransfer{
            .ranks = NumbersOf(trace_, hang.ranks), .operation = OperationOf(trace_, hang), .tuning = hang.tuning},
        &verdict);
    SayVictims(hang, &verdict);
    return verdict;
  }

  Verdict OfSoftware(const Hang& hang) const {
    const bool mismatch = hang.kind == HangKind::kMismatch;
    Verdict verdict =
        Begin(VerdictScope::kSoftware, mismatch ? VerdictClass::kCollectiveMismatch : VerdictClass::kDeadlock,
              Advice::kCheckSoftware);
    for (const int32_t rank : hang.ranks) verdict.culprits.push_back(TraceCulprit(trace_, rank, kLikelyConfidence));
    std::vector<int32_t> ranks = NumbersOf(trace_, hang.ranks);
    OperationName operation = OperationOf(trace_, hang);
    if (mismatch && hang.other_tuning.has_value()) {
      Say(DifferentTuning{.ranks = std::move(ranks),
                          .operation = std::move(operation),
                          .theirs = *hang.other_tuning,
                          .usual = hang.tuning},
          &verdict);
    } else if (mismatch) {
      Say(DifferentCall{.ranks = std::move(ranks), .operation = std::move(operation)}, &verdict);
    } else {
      Say(DifferentOrder{.ranks = std::move(ranks), .operation = std::move(operation)}, &verdict);
    }
    SayVictims(hang, &verdict);
    return verdict;
  }

  const Frontier& frontier_;
  const Trace& trace_;
  const HangSearch& search_;
  absl::Span<const HostEvent> events_;
  std::vector<int32_t> ranks_on_host_;
  std::set<int32_t> silent_named_;  // hosts
  std::set<int32_t> rank_named_;    // in a watched job
  std::vector<Verdict> verdicts_;
};

}  // namespace

std::vector<Verdict> HangVerdicts(const Frontier& frontier, const HangSearch& search,
                                  absl::Span<const HostEvent> events) {
  return Writer(frontier, search, events).Run();
}

}  // namespace lockstep
