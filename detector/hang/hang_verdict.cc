#include "detector/hang/hang_verdict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "detector/hang/hang.h"
#include "detector/hang/hang_reason.h"
#include "detector/hang/operation_verdict.h"
#include "detector/hang/rank_verdict.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

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
      if (hang.doubt == Doubt::kMany) {
        candidates_.insert(hang.ranks.begin(), hang.ranks.end());
        continue;
      }
      switch (hang.kind) {
        case HangKind::kNotEntered:
        case HangKind::kNotFinished:
        case HangKind::kHalted:
        case HangKind::kStopped:
          AddMissing(hang);
          break;
        case HangKind::kTransfer:
          AddTransfer(hang);
          break;
        case HangKind::kMismatch:
        case HangKind::kDeadlock:
          verdicts_.push_back(OfSoftware(frontier_, hang));
          break;
      }
    }
    AddDead();
    AddSilent();
    AddUndecided();
    return std::move(verdicts_);
  }

 private:
  const TraceRank& Rank(int32_t index) const { return trace_.ranks[static_cast<size_t>(index)]; }

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
      (IsDead(Rank(rank)) ? dead : BrokenGpuEvents(trace_, events_, rank).empty() ? others : broken).push_back(rank);
    }
    if (!unnamed.empty()) AddSilentHosts(&hang, unnamed);
    AddRanks(hang, dead, VerdictClass::kProcessDead);
    AddRanks(hang, broken, VerdictClass::kGpuFault);
    if (hang.doubt == Doubt::kLost) {
      candidates_.insert(others.begin(), others.end());
    } else {
      AddRanks(hang, others, ClassOf(hang));
    }
    AddUnrecorded(hang);
  }

  // One of several ranks is the cause. Where something else tells which, that has been said.
  void AddUndecided() {
    if (candidates_.empty() || !verdicts_.empty()) return;
    const Hang& hang = search_.hangs.front();
    Verdict verdict = ObserveHang(ClassOf(hang));
    SayOfHang(WhatTheyDo(trace_, hang, {candidates_.begin(), candidates_.end()}), &verdict);
    SayVictims(frontier_, hang, &verdict);
    verdicts_.push_back(std::move(verdict));
  }

  // Of operations that ranks without records may hold, the one that keeps up most is told: they are one cause.
  void AddTransfer(const Hang& hang) {
    if (hang.doubt != Doubt::kGaps) {
      verdicts_.push_back(OfStuckTransfer(frontier_, hang));
      return;
    }
    const bool unrecorded = !hang.unrecorded.empty() || hang.more_unrecorded > 0;
    if (unrecorded && std::exchange(unknown_holder_told_, true)) return;
    verdicts_.push_back(OfUnknownHolder(frontier_, hang));
  }

  // Ranks that are missing in many places are one cause.
  void AddUnrecorded(Hang hang) {
    std::erase_if(hang.unrecorded, [this](int32_t number) { return !unrecorded_named_.insert(number).second; });
    if (!hang.unrecorded.empty()) verdicts_.push_back(OfUnrecorded(frontier_, hang));
  }

  // In a watched job ranks come to light one after the other: one verdict for each, so that none changes its identity.
  void AddRanks(const Hang& hang, const std::vector<int32_t>& ranks, VerdictClass verdict_class) {
    if (ranks.empty()) return;
    if (frontier_.watch() == nullptr) {
      verdicts_.push_back(OfRanks(frontier_, events_, hang, ranks, verdict_class));
      return;
    }
    for (const int32_t rank : ranks) {
      if (!rank_named_.insert(rank).second) continue;
      verdicts_.push_back(OfRanks(frontier_, events_, hang, {rank}, verdict_class));
    }
  }

  // `hang`: what others wait in; nullptr = nobody waits yet.
  void AddSilentHosts(const Hang* hang, const std::set<int32_t>& hosts) {
    for (auto host = hosts.begin(); host != hosts.end();) {
      Verdict verdict = BeginHang(VerdictScope::kMachine, VerdictClass::kMachineUnreachable, Advice::kCordonAndReplace);
      do {
        const std::string& name = trace_.hosts[static_cast<size_t>(*host)];
        verdict.culprits.push_back({.host = name, .confidence = kLikelyConfidence});
        SayOfHang(SilenceOf(frontier_, *host, ranks_on_host_[static_cast<size_t>(*host)], hang), &verdict);
        ++host;
      } while (frontier_.watch() == nullptr && host != hosts.end());
      if (hang != nullptr) SayVictims(frontier_, *hang, &verdict);
      verdicts_.push_back(std::move(verdict));
    }
  }

  // Processes that died while others live on, and whom nobody waits for yet.
  void AddDead() {
    std::set<int32_t> named;
    for (const Verdict& verdict : verdicts_) {
      for (const Culprit& culprit : verdict.culprits) named.insert(culprit.rank);
    }
    Verdict verdict = BeginHang(VerdictScope::kMachine, VerdictClass::kProcessDead, Advice::kCheckSoftware);
    SayOfHang(DeadProcesses{.dead = frontier_.died().size(), .all = trace_.ranks.size()}, &verdict);
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

  const Frontier& frontier_;
  const Trace& trace_;
  const HangSearch& search_;
  absl::Span<const HostEvent> events_;
  std::vector<int32_t> ranks_on_host_;
  std::set<int32_t> silent_named_;      // hosts
  std::set<int32_t> rank_named_;        // in a watched job
  std::set<int32_t> candidates_;        // ranks, one of which is the cause
  std::set<int32_t> unrecorded_named_;  // numbers of ranks
  bool unknown_holder_told_ = false;    // that ranks without records may hold an operation
  std::vector<Verdict> verdicts_;
};

}  // namespace

std::vector<Verdict> HangVerdicts(const Frontier& frontier, const HangSearch& search,
                                  absl::Span<const HostEvent> events) {
  return Writer(frontier, search, events).Run();
}

}  // namespace lockstep
