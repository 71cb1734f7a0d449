#include "detector/hang/first_death.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "detector/model/input.h"
#include "detector/model/process_end.h"
#include "detector/verdict/signal_names.h"

namespace lockstep {
namespace {

// A shell, and many a program with a handler, ends with this more than the number of the signal that it got.
constexpr int32_t kCodeOfSignals = 128;
// Between SIGTERM and SIGKILL launchers and schedulers leave 30 s; twice that for those who come late.
constexpr int64_t kStopSpanNs = 60 * kNanosPerSecond;

const RankProcess& RankOf(const Roster& roster, const Death& death) {
  return roster.ranks()[static_cast<size_t>(death.rank_slot)];
}

EndManner MannerOfSignal(int32_t signal) {
  if (signal == kSignalKill) return EndManner::kKilled;
  if (IsRequestToEnd(signal)) return EndManner::kAsked;
  return IsCrash(signal) ? EndManner::kCrashed : EndManner::kFailed;
}

EndManner MannerOf(const ProcessEnd& end) {
  if (!end.known()) return EndManner::kUnknown;
  if (end.signal != 0) return MannerOfSignal(end.signal);
  if (end.code == 0) return EndManner::kOrderly;
  const int32_t signal = end.code - kCodeOfSignals;
  return *SignalName(signal) != '\0' ? MannerOfSignal(signal) : EndManner::kFailed;
}

// A GPU's end of an operation is heard of within less.
constexpr int64_t kSurelyInsideNs = 2 * kNanosPerSecond;

bool VanishedInside(const Roster& roster, const RankProcess& rank) {
  return std::any_of(rank.memberships.begin(), rank.memberships.end(), [&](const RankProcess::Membership& place) {
    const Communicator& communicator = roster.communicators()[static_cast<size_t>(place.communicator_slot)];
    const Member& member = communicator.members[static_cast<size_t>(place.member)];
    return member.in_flight.has_value() && (member.in_flight->timing_quality == TimingQuality::kHostCall ||
                                            InsideAtEndNs(rank, member) >= kSurelyInsideNs);
  });
}

// When somebody had died for sure, at the earliest: on each host by its own clock, and on the collector's for the host
// where that was first and for all others.
class EarliestDeaths {
 public:
  void Add(const RankProcess& rank) {
    const auto [host, is_new] = on_host_ns_.emplace(rank.host_slot, rank.ended_host_ns);
    host->second = std::min(host->second, rank.ended_host_ns);
    if (rank.host_slot == first_host_) {
      first_ns_ = std::min(first_ns_, rank.ended_ns);
    } else if (rank.ended_ns < first_ns_) {
      elsewhere_ns_ = first_ns_;
      first_ns_ = rank.ended_ns;
      first_host_ = rank.host_slot;
    } else {
      elsewhere_ns_ = std::min(elsewhere_ns_, rank.ended_ns);
    }
  }

  // Nobody is known to have died before this one.
  bool MayBeFirst(const RankProcess& rank) const {
    const int64_t others_ns = rank.host_slot == first_host_ ? elsewhere_ns_ : first_ns_;
    return rank.ended_host_ns - rank.end.uncertain_ns <= on_host_ns_.at(rank.host_slot) &&
           rank.ended_ns - rank.end.uncertain_ns - kAcrossHostsNs <= others_ns;
  }

 private:
  std::map<int32_t, int64_t> on_host_ns_;  // by host slot
  int32_t first_host_ = -1;
  int64_t first_ns_ = INT64_MAX;
  int64_t elsewhere_ns_ = INT64_MAX;
};

// A group whose memory ran out is killed as one: without the log of the kernel that looks like a stop.
MemoryKill MemoryKillOf(const RankProcess& rank, EndManner manner, const std::string& host, const EvidenceLog& log) {
  if (manner != EndManner::kKilled && manner != EndManner::kUnknown) return MemoryKill::kNone;
  if (log.SaysKilledForMemory(host, rank.pid)) return MemoryKill::kNamed;
  const bool counted = log.CountedMemoryKills(host, rank.ended_host_ns - rank.end.uncertain_ns, rank.ended_host_ns);
  return manner == EndManner::kKilled && counted ? MemoryKill::kCounted : MemoryKill::kNone;
}

class Order {
 public:
  Order(const Roster& roster, const EvidenceLog& log) : roster_(roster) {
    bool any_known = false;
    for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
      const RankProcess& rank = roster.ranks()[slot];
      if (!rank.dead() || rank.finalized) continue;
      const Death death = DeathOf(roster, static_cast<int32_t>(slot), log);
      if (death.manner == EndManner::kOrderly) continue;
      any_known = any_known || death.manner != EndManner::kUnknown || VanishedInside(roster, rank);
      deaths_.push_back(death);
    }
    if (!any_known) deaths_.clear();
  }

  Deaths Run() {
    Deaths found;
    if (deaths_.empty()) return found;
    std::sort(deaths_.begin(), deaths_.end(), [this](const Death& a, const Death& b) {
      const RankProcess& one = RankOf(roster_, a);
      const RankProcess& other = RankOf(roster_, b);
      return std::tie(one.ended_ns, one.rank) < std::tie(other.ended_ns, other.rank);
    });
    EarliestDeaths earliest;
    for (const Death& death : deaths_) earliest.Add(RankOf(roster_, death));
    for (const Death& death : deaths_) {
      (earliest.MayBeFirst(RankOf(roster_, death)) ? found.first : found.followers).push_back(death);
    }
    KeepTheSurest(found);
    std::sort(found.first.begin(), found.first.end(),
              [this](const Death& a, const Death& b) { return RankOf(roster_, a).rank < RankOf(roster_, b).rank; });
    found.stopped = IsStop(found);
    return found;
  }

 private:
  // Of those whose moments do not tell, how they ended does.
  static void KeepTheSurest(Deaths& found) {
    const EndManner surest =
        std::min_element(found.first.begin(), found.first.end(), [](const Death& a, const Death& b) {
          return a.manner < b.manner;
        })->manner;
    const auto follow = std::stable_partition(found.first.begin(), found.first.end(),
                                              [surest](const Death& death) { return death.manner == surest; });
    found.followers.insert(found.followers.begin(), follow, found.first.end());
    found.first.erase(follow, found.first.end());
  }

  bool IsStop(const Deaths& found) const {
    const EndManner manner = found.first.front().manner;
    const int64_t span_ns = RankOf(roster_, deaths_.back()).ended_ns - RankOf(roster_, deaths_.front()).ended_ns;
    if (manner == EndManner::kKilled) {
      return span_ns <= kKillSpanNs && std::all_of(deaths_.begin(), deaths_.end(), [](const Death& death) {
               return death.manner == EndManner::kKilled;
             });
    }
    if (manner != EndManner::kAsked || span_ns > kStopSpanNs) return false;
    std::map<int32_t, EndManner> first_of_host;
    for (const Death& death : found.first) first_of_host.emplace(RankOf(roster_, death).host_slot, death.manner);
    for (const Death& death : deaths_) first_of_host.emplace(RankOf(roster_, death).host_slot, death.manner);
    return std::all_of(first_of_host.begin(), first_of_host.end(), [](const auto& host) {
      return host.second == EndManner::kAsked || host.second == EndManner::kKilled;
    });
  }

  const Roster& roster_;
  std::vector<Death> deaths_;  // by time, once it runs
};

}  // namespace

bool Deaths::Followed(int32_t rank_slot) const {
  return std::any_of(followers.begin(), followers.end(),
                     [rank_slot](const Death& death) { return death.rank_slot == rank_slot; });
}

int64_t InsideAtEndNs(const RankProcess& rank, const Member& member) {
  if (!member.in_flight.has_value()) return 0;
  const int64_t dead_ns = rank.cpu.empty() ? 0 : rank.cpu.back().host_ns - rank.ended_host_ns;
  return std::max<int64_t>(member.InsideNs(*member.in_flight, rank.received_ns) - dead_ns, 0);
}

Death DeathOf(const Roster& roster, int32_t rank_slot, const EvidenceLog& log) {
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(rank_slot)];
  const std::string& host = roster.HostName(rank_slot);
  Death death{.rank_slot = rank_slot, .end = rank.end};
  const KernelEvent* const crash = rank.end.known() ? nullptr : log.CrashOf(host, rank.pid);
  if (crash != nullptr) {
    death.end.source = EndSource::kKernelLog;
    death.end.signal = static_cast<int32_t>(crash->code);
  }
  death.manner = MannerOf(death.end);
  death.for_memory = MemoryKillOf(rank, death.manner, host, log);
  if (death.for_memory != MemoryKill::kNone) death.manner = EndManner::kCrashed;
  return death;
}

Deaths OrderDeaths(const Roster& roster, const EvidenceLog& log) { return Order(roster, log).Run(); }

}  // namespace lockstep
