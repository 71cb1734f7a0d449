#include "detector/hang/death_verdict.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/end_reasons.h"
#include "detector/verdict/roster_names.h"
#include "detector/verdict/wording.h"

namespace lockstep {
namespace {

// What launchers and schedulers leave between SIGTERM and SIGKILL.
constexpr int64_t kGraceNs = 30 * kNanosPerSecond;

const RankProcess& At(const Roster& roster, int32_t slot) { return roster.ranks()[static_cast<size_t>(slot)]; }

double Seconds(int64_t ns) { return static_cast<double>(std::max<int64_t>(ns, 0)) / kNanosPerSecond; }

CommunicatorName NameOf(const Communicator& communicator) {
  return {.name = absl::StrFormat("0x%x", communicator.id),
          .hint = communicator.name,
          .members = static_cast<uint64_t>(communicator.size)};
}

// What the rank was inside of for longest when it died, or else what it left last.
std::optional<LastRecorded> LastOf(const Roster& roster, const RankProcess& rank) {
  const auto name_of = [&roster](int32_t slot) { return NameOf(roster.communicators()[static_cast<size_t>(slot)]); };
  std::optional<LastRecorded> last;
  for (const RankProcess::Membership& place : rank.memberships) {
    const Communicator& communicator = roster.communicators()[static_cast<size_t>(place.communicator_slot)];
    const Member& member = communicator.members[static_cast<size_t>(place.member)];
    if (!member.in_flight.has_value()) continue;
    const double seconds = Seconds(InsideAtEndNs(rank, member));
    if (last.has_value() && last->seconds >= seconds) continue;
    last = LastRecorded{.rank = rank.rank,
                        .operation = {member.in_flight->kind, member.in_flight->sequence, NameOf(communicator)},
                        .inside = true,
                        .seconds = seconds};
  }
  if (last.has_value() || rank.last.communicator_slot < 0) return last;
  return LastRecorded{.rank = rank.rank,
                      .operation = {rank.last.kind, rank.last.sequence, name_of(rank.last.communicator_slot)},
                      .seconds = Seconds(rank.ended_host_ns - rank.last.end_ns)};
}

DeathsThatFollowed FollowersOf(const Roster& roster, const Deaths& deaths) {
  const int64_t begun_ns = At(roster, deaths.first.front().rank_slot).ended_ns;
  DeathsThatFollowed reason{.dead = deaths.followers.size(), .all = roster.ranks().size()};
  int64_t first_ns = INT64_MAX, last_ns = 0;
  std::map<std::string, int> counted;
  for (const Death& death : deaths.followers) {
    const RankProcess& rank = At(roster, death.rank_slot);
    first_ns = std::min(first_ns, rank.ended_ns);
    last_ns = std::max(last_ns, rank.ended_ns);
    const std::string how = ShortEndText(death.end);
    ++counted[how.empty() ? "not known how" : absl::StrCat("by ", how)];
  }
  reason.first_seconds = Seconds(first_ns - begun_ns);
  reason.last_seconds = Seconds(last_ns - begun_ns);
  std::vector<std::pair<int, std::string>> by_count;
  for (const auto& [how, count] : counted) by_count.emplace_back(-count, how);
  std::sort(by_count.begin(), by_count.end());
  for (const auto& [count, how] : by_count) reason.how.push_back(absl::StrCat(-count, " ", how));
  return reason;
}

bool OnSeveralHosts(const Roster& roster, const std::vector<Death>& deaths) {
  return std::any_of(deaths.begin(), deaths.end(), [&](const Death& death) {
    return At(roster, death.rank_slot).host_slot != At(roster, deaths.front().rank_slot).host_slot;
  });
}

ProcessEnded EndedOf(const Roster& roster, const Death& death, bool first) {
  const RankProcess& rank = At(roster, death.rank_slot);
  return {.rank = NameOf(roster, death.rank_slot),
          .pid = rank.pid,
          .end = {death.end.source, death.end.code, death.end.signal, death.end.core_dumped},
          .for_memory = death.for_memory,
          .first = first};
}

std::vector<Evidence> EvidenceOf(const Roster& roster, const Deaths& deaths) {
  std::vector<Evidence> evidence;
  const bool alone = deaths.first.size() == 1;
  const auto say = [&evidence](Reason reason) { evidence.push_back({EvidenceKind::kProgress, std::move(reason)}); };
  constexpr size_t kMostTold = 3;  // of what people read
  for (size_t i = 0; i < std::min(deaths.first.size(), kMostTold); ++i) {
    say(EndedOf(roster, deaths.first[i], alone));
    if (auto last = LastOf(roster, At(roster, deaths.first[i].rank_slot))) say(*std::move(last));
  }
  if (!alone) {
    std::vector<int32_t> slots;
    for (const Death& death : deaths.first) slots.push_back(death.rank_slot);
    say(DeathsTooNear{.ranks = NumbersOf(roster, slots),
                      .across_hosts = OnSeveralHosts(roster, deaths.first),
                      .sure_seconds = Seconds(kAcrossHostsNs)});
  }
  if (!deaths.followers.empty()) say(FollowersOf(roster, deaths));
  return evidence;
}

// What a program did by itself is no machine's fault, unless somebody says so of its GPU.
VerdictScope ScopeOf(const Death& death) {
  const bool by_itself = death.manner == EndManner::kFailed || death.manner == EndManner::kOrderly ||
                         (death.manner == EndManner::kCrashed && death.for_memory == MemoryKill::kNone);
  return by_itself ? VerdictScope::kSoftware : VerdictScope::kMachine;
}

double ConfidenceOf(const Deaths& deaths) {
  if (deaths.first.size() > 1) return kDoubtfulConfidence;
  return deaths.first.front().manner == EndManner::kUnknown ? kLikelyConfidence : kPlainConfidence;
}

void Name(const Roster& roster, const Deaths& deaths, Verdict* verdict) {
  verdict->culprits.clear();
  for (const Death& death : deaths.first) {
    verdict->culprits.push_back(CulpritOf(roster, death.rank_slot, ConfidenceOf(deaths)));
  }
  verdict->scope = ScopeOf(deaths.first.front());
  verdict->advice = Advice::kCheckSoftware;
}

bool WholeHostKilled(const Roster& roster, const Deaths& deaths) {
  const int32_t host = At(roster, deaths.first.front().rank_slot).host_slot;
  const auto killed_there = [&](const std::vector<Death>& some) {
    return std::count_if(some.begin(), some.end(), [&](const Death& death) {
      return death.manner == EndManner::kKilled && At(roster, death.rank_slot).host_slot == host;
    });
  };
  return killed_there(deaths.first) + killed_there(deaths.followers) ==
         std::count_if(roster.ranks().begin(), roster.ranks().end(),
                       [host](const RankProcess& rank) { return rank.host_slot == host; });
}

// Of a job that is being stopped, hosts and ranks go one after the other.
bool MayBeAStop(const Roster& roster, const Deaths& deaths, int64_t watermark_ns) {
  const Death& death = deaths.first.front();
  const int64_t since_ns = watermark_ns - At(roster, death.rank_slot).ended_ns;
  if (death.manner == EndManner::kAsked) return since_ns < kGraceNs;
  return death.manner == EndManner::kKilled && since_ns < kKillSpanNs && WholeHostKilled(roster, deaths);
}

std::string EndsInOrder(const Roster& roster) {
  int unknown = 0, unfinalized = 0, late = 0;
  std::string first_late;
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    const RankProcess& rank = At(roster, static_cast<int32_t>(slot));
    const bool ended_badly = rank.dead() && rank.end.known() && (rank.end.code != 0 || rank.end.signal != 0);
    if (rank.finalized && ended_badly && ++late == 1) {
      first_late = absl::StrCat(Text(NameOf(roster, static_cast<int32_t>(slot))), " ", HowText(rank.end));
    }
    if (rank.finalized) continue;
    ++(EndIsUnknown(rank) ? unknown : unfinalized);
  }
  std::vector<std::string> sentences = {"All ranks have ended."};
  if (unknown > 0) {
    sentences.push_back(
        absl::StrFormat("How %d of them did is not known: neither finalized, nor seen to die.", unknown));
  }
  if (unfinalized > 0) sentences.push_back(absl::StrFormat("%d did not finalize and had exit code 0.", unfinalized));
  if (late > 0) {
    sentences.push_back(absl::StrFormat("After they had finalized, %d ended badly: %s.", late, first_late));
  }
  return Sentences(sentences);
}

}  // namespace

void SettleDeaths(const Roster& roster, const Deaths& deaths, int64_t watermark_ns, std::vector<Verdict>* verdicts) {
  if (!deaths.any()) return;
  const bool wait = MayBeAStop(roster, deaths, watermark_ns);
  bool told = false;
  const auto slot_of = [&roster](const Culprit& culprit) { return roster.SlotOfRank(culprit.rank); };
  std::erase_if(*verdicts, [&](Verdict& verdict) {
    if (verdict.culprits.empty()) return false;
    const bool all_dead = std::all_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& culprit) {
      return slot_of(culprit) >= 0 && At(roster, slot_of(culprit)).dead();
    });
    if (!all_dead) return false;
    const bool followed = std::all_of(verdict.culprits.begin(), verdict.culprits.end(),
                                      [&](const Culprit& culprit) { return deaths.Followed(slot_of(culprit)); });
    const bool first = std::any_of(deaths.first.begin(), deaths.first.end(), [&](const Death& death) {
      return death.rank_slot == slot_of(verdict.culprits.front());
    });
    if (!first) return followed;
    // Those who cannot be told apart are one cause.
    if (std::exchange(told, true) || wait) return true;
    Name(roster, deaths, &verdict);
    std::vector<Evidence> evidence = EvidenceOf(roster, deaths);
    std::move(verdict.evidence.begin(), verdict.evidence.end(), std::back_inserter(evidence));
    verdict.evidence = std::move(evidence);
    return false;
  });
}

Verdict OfDeath(const Roster& roster, const Deaths& deaths, const EvidenceLog& log, int64_t watermark_ns) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kJob, VerdictClass::kProcessDead);
  verdict.advice = Advice::kCheckSoftware;
  verdict.first_seen_ns = At(roster, deaths.first.front().rank_slot).ended_ns;
  verdict.evidence = EvidenceOf(roster, deaths);
  // Of several about whom nothing but their end is known, none is accused.
  if (deaths.first.size() > 1 && deaths.first.front().manner == EndManner::kUnknown) return verdict;
  Name(roster, deaths, &verdict);
  std::set<std::string> hosts;
  for (const Culprit& culprit : verdict.culprits) {
    hosts.insert(culprit.host);
    const KernelEvent* const crash = log.CrashOf(culprit.host, culprit.pid);
    if (crash == nullptr) continue;
    KernelLine line = LineOf(culprit.host, *crash);
    line.text = crash->text;
    verdict.evidence.push_back({EvidenceKind::kLog, std::move(line)});
  }
  for (const std::string& host : hosts) {
    std::vector<Evidence> said = log.About(host, watermark_ns);
    std::move(said.begin(), said.end(), std::back_inserter(verdict.evidence));
  }
  return verdict;
}

void AddDeath(const Roster& roster, const Deaths& deaths, Verdict* hang) {
  hang->evidence.push_back({EvidenceKind::kProgress, DiedInHang{}});
  for (Evidence& evidence : EvidenceOf(roster, deaths)) hang->evidence.push_back(std::move(evidence));
}

std::string EndNote(const Roster& roster, const Deaths& deaths) {
  const auto seen = static_cast<int32_t>(roster.ranks().size());
  const std::string unseen =
      roster.world_size() > seen
          ? absl::StrFormat("%d of %d ranks have never been seen.", roster.world_size() - seen, roster.world_size())
          : "";
  if (!deaths.any()) return Sentences({EndsInOrder(roster), unseen});
  const Death& first = deaths.first.front();
  const RankProcess& rank = At(roster, first.rank_slot);
  const std::string who = Text(NameOf(roster, first.rank_slot));
  if (deaths.stopped) {
    const int64_t last_ns =
        deaths.followers.empty() ? rank.ended_ns : At(roster, deaths.followers.back().rank_slot).ended_ns;
    return Sentences(
        {absl::StrCat("All ranks were ended from outside within ", Duration(Seconds(last_ns - rank.ended_ns)),
                      ", as by a scheduler or by people; ", who, " ", HowText(first.end), ". Nobody is to blame."),
         unseen});
  }
  if (deaths.first.size() == 1) {
    return Sentences({absl::StrCat("The job died: ", who, " was the first, it ", HowText(first.end), "."), unseen});
  }
  std::vector<int32_t> slots;
  for (const Death& death : deaths.first) slots.push_back(death.rank_slot);
  return Sentences(
      {absl::StrCat("The job died; which of ", Text(NumbersOf(roster, slots)), " was the first cannot be told."),
       unseen});
}

}  // namespace lockstep
