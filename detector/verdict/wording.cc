#include "detector/verdict/wording.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

constexpr size_t kMaxListed = 8;

}  // namespace

std::string FullRankName(const Roster& roster, int32_t rank_slot) {
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(rank_slot)];
  return absl::StrCat("Rank ", rank.rank, " (host ", roster.HostName(rank_slot), ", pid ", rank.pid, ")");
}

std::string RankList(const Roster& roster, const std::vector<int32_t>& rank_slots) {
  std::vector<int32_t> ranks;
  for (const int32_t slot : rank_slots) ranks.push_back(roster.ranks()[static_cast<size_t>(slot)].rank);
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kMaxListed); ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMaxListed) absl::StrAppend(&text, " and ", ranks.size() - kMaxListed, " more");
  return text;
}

std::string CommunicatorName(const Communicator& communicator) {
  if (!communicator.name.empty()) return absl::StrCat("communicator ", communicator.name);
  return absl::StrFormat("communicator 0x%x (%d members)", communicator.id, communicator.size);
}

std::string Duration(double seconds) {
  const double size = std::abs(seconds);
  if (size >= 1) return absl::StrFormat("%.1f s", seconds);
  if (size >= 1e-3) return absl::StrFormat("%.1f ms", seconds * 1e3);
  return absl::StrFormat("%.0f us", seconds * 1e6);
}

std::string Sentences(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    if (!sentence.empty()) absl::StrAppend(&text, text.empty() ? "" : " ", sentence);
  }
  return text;
}

Culprit CulpritOf(const Roster& roster, int32_t rank_slot, double confidence) {
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(rank_slot)];
  return {.host = roster.HostName(rank_slot),
          .rank = rank.rank,
          .gpu = rank.gpu,
          .pid = rank.pid,
          .confidence = confidence};
}

}  // namespace lockstep
