#include "detector/hardware/ras_verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/hardware/ras_evidence.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/roster_names.h"

namespace lockstep {
namespace {

// Answers in a row: a claim that stays. RAS counts launches alone, and as often names who waits.
constexpr int kAgreeing = 2;
// As a job's whose steps are not known: hang/hang_timeout.h.
constexpr int64_t kStandsStillNs = 30 * kNanosPerSecond;
// As hang/hang_timeout.cc.
constexpr uint64_t kStartUpOperations = 3;
// As many as a sentence lists.
constexpr size_t kMaxNamed = 8;

bool IsGone(const RasClaim& claim) {
  return claim.kind == RasClaimKind::kDead || claim.kind == RasClaimKind::kUnresponsive ||
         claim.kind == RasClaimKind::kMissing;
}

struct Process {
  std::string host;
  int32_t pid = 0;
  int32_t rank = -1;
  CommunicatorId communicator = 0;
  auto operator<=>(const Process&) const = default;
};

class Judge {
 public:
  Judge(const Roster& roster, int64_t watermark_ns, bool stands_still)
      : roster_(roster), watermark_ns_(watermark_ns), stands_still_(stands_still) {}

  RasJudgement Run(const std::vector<RasStanding>& standing) {
    for (const RasStanding& said : standing) {
      if (!IsOurs(said.claim)) continue;
      if (said.answers < kAgreeing) {
        once_ = true;
      } else if (IsGone(said.claim)) {
        gone_.push_back(&said);
      } else if (said.claim.kind == RasClaimKind::kBehind) {
        behind_.push_back(&said);
      }
    }
    const bool dead = std::any_of(gone_.begin(), gone_.end(),
                                  [](const RasStanding* said) { return said->claim.kind == RasClaimKind::kDead; });
    stands_still_ = stands_still_ || dead || StandsStillByLaunches();
    if (gone_.empty() && behind_.empty()) {
      return once_ ? None("NCCL's RAS service has found ranks gone or behind, but only once: it is asked again.")
                   : RasJudgement{};
    }
    if (!stands_still_) {
      return None("NCCL's RAS service finds ranks gone or behind, and nothing shows that the job stands still.");
    }
    return gone_.empty() ? OfBehind() : OfGone();
  }

 private:
  static RasJudgement None(std::string why) { return {.verdicts = {}, .why_none = std::move(why)}; }

  // A job with records is known by its communicators; RAS may be that of another job on the same machine.
  bool IsOurs(const RasClaim& claim) const {
    return roster_.communicators().empty() || roster_.SlotOfCommunicator(claim.communicator) >= 0;
  }

  bool StandsStillByLaunches() const {
    return std::any_of(behind_.begin(), behind_.end(),
                       [](const RasStanding* said) { return said->asked_ns - said->since_ns >= kStandsStillNs; });
  }

  // Where NCCL tells no address: the rank of the job, else that of the communicator.
  Process ProcessOf(const RasClaim& claim) const {
    if (!claim.host.empty()) return {.host = claim.host, .pid = claim.pid};
    const int32_t slot = RankSlotOf(roster_, claim);
    if (slot >= 0) return {.pid = claim.pid, .rank = roster_.ranks()[static_cast<size_t>(slot)].rank};
    return {.pid = claim.pid, .rank = claim.rank, .communicator = claim.communicator};
  }

  // A process is gone from all of its communicators; NCCL's address and pid tell that it is one.
  RasJudgement OfGone() const {
    std::map<Process, const RasStanding*> processes;
    for (const RasStanding* said : gone_) {
      const RasClaim& claim = said->claim;
      const RasStanding*& known = processes[ProcessOf(claim)];
      if (known == nullptr || said->claim.size > known->claim.size) known = said;
    }
    std::vector<const RasStanding*> named;
    int32_t largest = 0;
    for (const auto& [process, said] : processes) {
      named.push_back(said);
      largest = std::max(largest, said->claim.size);
    }
    if (2 * named.size() > static_cast<size_t>(largest)) {
      return None("NCCL's RAS service misses most of the job: what is left cannot tell who was first.");
    }
    return Name(named);
  }

  RasJudgement OfBehind() const {
    std::set<std::pair<CommunicatorId, OperationKind>> places;
    for (const RasStanding* said : behind_) places.emplace(said->claim.communicator, said->claim.operation);
    if (places.size() > 1) {
      return None(absl::StrCat("NCCL's RAS service counts different launches in ", places.size(),
                               " places, and does not tell which waits for which."));
    }
    const RasClaim& first = behind_.front()->claim;
    if (first.highest < kStartUpOperations) {
      return None("NCCL's RAS service finds ranks behind in the first operations of a job, where they often are.");
    }
    if (first.ranks_behind != behind_.size() || 2 * behind_.size() > static_cast<size_t>(first.size)) {
      return None(absl::StrCat("NCCL's RAS service finds ", first.ranks_behind, " of ", first.size,
                               " members behind: too many to name one."));
    }
    return Name(behind_);
  }

  RasJudgement Name(const std::vector<const RasStanding*>& named) const {
    if (named.size() > kMaxNamed) {
      return None(absl::StrCat("NCCL's RAS service names ", named.size(), " ranks: too many for one cause."));
    }
    RasJudgement judgement;
    for (const RasStanding* said : named) {
      judgement.verdicts.push_back(VerdictOf(*said, kDoubtfulConfidence / static_cast<double>(named.size())));
    }
    return judgement;
  }

  Verdict VerdictOf(const RasStanding& said, double confidence) const {
    const bool dead = said.claim.kind == RasClaimKind::kDead;
    Verdict verdict =
        Verdict::Accusation(VerdictScope::kMachine, dead ? VerdictClass::kProcessDead : VerdictClass::kHangNotEntered);
    const int32_t slot = RankSlotOf(roster_, said.claim);
    verdict.culprits = {
        slot >= 0
            ? CulpritOf(roster_, slot, confidence)
            : Culprit{
                  .host = said.claim.host, .rank = said.claim.rank, .pid = said.claim.pid, .confidence = confidence}};
    verdict.first_seen_ns = said.since_ns;
    verdict.cost = {.slowdown_fraction = 1, .seconds_per_step = 0, .steps_affected_fraction = 1};
    verdict.advice = Advice::kCheckSoftware;
    verdict.evidence = {{EvidenceKind::kProgress, SaidBy(roster_, said, watermark_ns_)},
                        {EvidenceKind::kProgress, RasCountsLaunches{}}};
    return verdict;
  }

  const Roster& roster_;
  const int64_t watermark_ns_;
  bool stands_still_;
  bool once_ = false;
  std::vector<const RasStanding*> gone_;
  std::vector<const RasStanding*> behind_;
};

}  // namespace

RasJudgement JudgeByRas(const Roster& roster, const RasMemory& memory, int64_t watermark_ns, bool stands_still) {
  if (memory.IsCut(watermark_ns)) {
    return {.verdicts = {},
            .why_none = "NCCL's RAS service names more ranks than an answer holds: too many for one cause."};
  }
  const std::vector<RasStanding> standing = memory.Fresh(watermark_ns);
  return Judge(roster, watermark_ns, stands_still).Run(standing);
}

}  // namespace lockstep
