#include "detector/hardware/ras_memory.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

auto OrderOf(const RasStanding& standing) {
  const RasClaim& claim = standing.claim;
  return std::make_tuple(claim.communicator, claim.rank, claim.kind, claim.operation);
}

// A process that does not answer and is then held to be dead is gone all the time.
bool IsGone(RasClaimKind kind) { return kind == RasClaimKind::kDead || kind == RasClaimKind::kUnresponsive; }

bool SaysTheSame(const RasClaim& before, const RasClaim& now) {
  if (!IsGone(before.kind) || !IsGone(now.kind)) return before == now;
  return before.communicator == now.communicator && before.rank == now.rank && before.pid == now.pid;
}

}  // namespace

bool RasMemory::MakeRoom(int64_t asked_ns) {
  if (askers_.size() < kMaxAskers) return true;
  const auto oldest = std::min_element(askers_.begin(), askers_.end(), [](const auto& a, const auto& b) {
    return a.second.asked_ns < b.second.asked_ns;
  });
  if (oldest->second.asked_ns > asked_ns) return false;
  askers_.erase(oldest);
  return true;
}

void RasMemory::Observe(const std::string& host, const RasStatement& answer, int64_t received_ns, int64_t host_ns) {
  const int64_t asked_ns = received_ns - std::max<int64_t>(0, host_ns - answer.asked_host_ns);
  if (!askers_.contains(host) && !MakeRoom(asked_ns)) {
    ++refused_;
    return;
  }
  Asker& asker = askers_[host];
  const std::vector<RasStanding> before = std::move(asker.standing);
  asker.asked_ns = asked_ns;
  asker.communicators = answer.communicators;
  asker.cut = answer.left_out > 0 || answer.claims.size() > kMaxClaims;
  asker.standing.clear();
  for (const RasClaim& claim : answer.claims) {
    if (asker.standing.size() == kMaxClaims) {
      refused_ += answer.claims.size() - kMaxClaims;
      break;
    }
    RasStanding& standing = asker.standing.emplace_back();
    standing = {.claim = claim, .answers = 1, .since_ns = asked_ns, .asked_ns = asked_ns};
    const auto known = std::find_if(before.begin(), before.end(),
                                    [&claim](const RasStanding& old) { return SaysTheSame(old.claim, claim); });
    if (known == before.end()) continue;
    standing.answers = known->answers + 1;
    standing.since_ns = known->since_ns;
  }
}

std::vector<RasStanding> RasMemory::Fresh(int64_t watermark_ns) const {
  std::vector<RasStanding> fresh;
  for (const auto& [host, asker] : askers_) {
    if (IsFresh(asker, watermark_ns)) fresh.insert(fresh.end(), asker.standing.begin(), asker.standing.end());
  }
  std::stable_sort(fresh.begin(), fresh.end(), [](const RasStanding& a, const RasStanding& b) {
    return OrderOf(a) < OrderOf(b) || (OrderOf(a) == OrderOf(b) && a.answers > b.answers);
  });
  const auto same = [](const RasStanding& a, const RasStanding& b) { return OrderOf(a) == OrderOf(b); };
  fresh.erase(std::unique(fresh.begin(), fresh.end(), same), fresh.end());
  return fresh;
}

bool RasMemory::Speaks(int64_t watermark_ns) const {
  return std::any_of(askers_.begin(), askers_.end(), [watermark_ns](const auto& entry) {
    return IsFresh(entry.second, watermark_ns) && entry.second.communicators > 0;
  });
}

bool RasMemory::IsCut(int64_t watermark_ns) const {
  return std::any_of(askers_.begin(), askers_.end(), [watermark_ns](const auto& entry) {
    return IsFresh(entry.second, watermark_ns) && entry.second.cut;
  });
}

}  // namespace lockstep
