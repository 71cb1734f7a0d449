#include "detector/hardware/ras_evidence.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "detector/verdict/confidence.h"

namespace lockstep {
namespace {

constexpr int kAgreeing = 2;  // answers in a row that make a difference in launches one that stays

bool Accuses(const Verdict& verdict, const Roster& roster, int32_t slot) {
  const int32_t rank = roster.ranks()[static_cast<size_t>(slot)].rank;
  return std::any_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& culprit) {
    return culprit.rank >= 0 ? culprit.rank == rank : culprit.host == roster.HostName(slot);
  });
}

// Whether some culprit is a member of the communicator that the claim is about.
bool IsAboutTheirs(const Verdict& verdict, const Roster& roster, const RasClaim& claim) {
  const int32_t slot = roster.SlotOfCommunicator(claim.communicator);
  if (slot < 0) return false;
  const std::vector<Member>& members = roster.communicators()[static_cast<size_t>(slot)].members;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.rank_slot >= 0 && Accuses(verdict, roster, member.rank_slot);
  });
}

// A difference in launches that was counted before the hang began belongs to a job that ran.
bool BelongsToIt(const Verdict& verdict, const RasStanding& standing) {
  return standing.claim.kind != RasClaimKind::kBehind || standing.asked_ns >= verdict.first_seen_ns;
}

// Of several candidates, those that RAS names as well.
void Narrow(const Roster& roster, const std::vector<RasStanding>& standing, Verdict* verdict) {
  const bool open = verdict->verdict_class == VerdictClass::kHangInCommunication && verdict->culprits.size() > 1;
  if (!open) return;
  std::set<int32_t> named;
  bool dead = true;
  for (const RasStanding& said : standing) {
    const int32_t slot = RankSlotOf(roster, said.claim);
    const bool stays = said.claim.kind != RasClaimKind::kBehind || said.answers >= kAgreeing;
    if (slot < 0 || !stays || !BelongsToIt(*verdict, said) || !Accuses(*verdict, roster, slot)) continue;
    named.insert(roster.ranks()[static_cast<size_t>(slot)].rank);
    dead = dead && said.claim.kind == RasClaimKind::kDead;
  }
  if (named.empty() || 2 * named.size() > verdict->culprits.size()) return;
  std::erase_if(verdict->culprits, [&named](const Culprit& culprit) { return !named.contains(culprit.rank); });
  for (Culprit& culprit : verdict->culprits) {
    culprit.confidence = kLikelyConfidence / static_cast<double>(named.size());
  }
  if (named.size() > 1) return;
  verdict->scope = VerdictScope::kMachine;
  verdict->advice = Advice::kCheckSoftware;
  if (dead) verdict->verdict_class = VerdictClass::kProcessDead;
}

void Quote(const Roster& roster, const std::vector<RasStanding>& standing, int64_t watermark_ns, Verdict* verdict) {
  std::vector<const RasStanding*> about_them, about_others;
  for (const RasStanding& said : standing) {
    if (!BelongsToIt(*verdict, said) || !IsAboutTheirs(*verdict, roster, said.claim)) continue;
    const int32_t slot = RankSlotOf(roster, said.claim);
    (slot >= 0 && Accuses(*verdict, roster, slot) ? about_them : about_others).push_back(&said);
  }
  const bool disagrees = about_them.empty();
  const std::vector<const RasStanding*>& quoted = disagrees ? about_others : about_them;
  std::vector<Evidence> quotes;  // each once: of a rank in two communicators the service says the same twice
  for (size_t i = 0; i < quoted.size() && quotes.size() < kMaxRasQuotes; ++i) {
    RasSays said = SaidBy(roster, *quoted[i], watermark_ns);
    said.contradicted = disagrees;
    Evidence quote{EvidenceKind::kProgress, std::move(said)};
    const auto says_it = [&quote](const Evidence& other) { return other.text() == quote.text(); };
    if (std::none_of(quotes.begin(), quotes.end(), says_it)) quotes.push_back(std::move(quote));
  }
  std::move(quotes.begin(), quotes.end(), std::back_inserter(verdict->evidence));
}

}  // namespace

int32_t RankSlotOf(const Roster& roster, const RasClaim& claim) {
  const int32_t slot = roster.SlotOfCommunicator(claim.communicator);
  if (slot < 0) return -1;
  const Communicator& communicator = roster.communicators()[static_cast<size_t>(slot)];
  if (claim.rank < 0 || static_cast<size_t>(claim.rank) >= communicator.members.size()) return -1;
  return communicator.members[static_cast<size_t>(claim.rank)].rank_slot;
}

RasSays SaidBy(const Roster& roster, const RasStanding& standing, int64_t watermark_ns) {
  const int32_t slot = RankSlotOf(roster, standing.claim);
  const double age_seconds = static_cast<double>(watermark_ns - standing.asked_ns) / kNanosPerSecond;
  return {.claim = standing.claim,
          .rank = slot < 0 ? -1 : roster.ranks()[static_cast<size_t>(slot)].rank,
          .answers = standing.answers,
          .age_seconds = std::max(0.0, age_seconds)};
}

void AddRasEvidence(const Roster& roster, const RasMemory& memory, int64_t watermark_ns, std::vector<Verdict>* hangs) {
  if (hangs->empty()) return;
  const std::vector<RasStanding> standing = memory.Fresh(watermark_ns);
  if (standing.empty()) return;
  for (Verdict& verdict : *hangs) {
    Narrow(roster, standing, &verdict);
    Quote(roster, standing, watermark_ns, &verdict);
  }
}

}  // namespace lockstep
