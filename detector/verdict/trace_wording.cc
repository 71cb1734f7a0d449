#include "detector/verdict/trace_wording.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr size_t kMaxListed = 8;

}  // namespace

std::string HostNameOf(const Trace& trace, int32_t rank_index) {
  const int32_t host = trace.ranks[static_cast<size_t>(rank_index)].host;
  return host < 0 ? "" : trace.hosts[static_cast<size_t>(host)];
}

std::string TraceRankName(const Trace& trace, int32_t rank_index) {
  const std::string host = HostNameOf(trace, rank_index);
  return absl::StrCat("Rank ", trace.ranks[static_cast<size_t>(rank_index)].rank,
                      host.empty() ? "" : absl::StrCat(" (host ", host, ")"));
}

std::string RankNumberList(std::vector<int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kMaxListed); ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMaxListed) absl::StrAppend(&text, " and ", ranks.size() - kMaxListed, " more");
  return text;
}

std::string TraceRankList(const Trace& trace, const std::vector<int32_t>& rank_indices) {
  std::vector<int32_t> ranks;
  for (const int32_t index : rank_indices) ranks.push_back(trace.ranks[static_cast<size_t>(index)].rank);
  return RankNumberList(std::move(ranks));
}

std::string TraceCommunicatorName(const Trace& trace, int32_t communicator) {
  const TraceCommunicator& named = trace.communicators[static_cast<size_t>(communicator)];
  return absl::StrCat("communicator ", named.name, " (", named.hint.empty() ? "" : absl::StrCat(named.hint, ", "),
                      named.members.size(), " members)");
}

Culprit TraceCulprit(const Trace& trace, int32_t rank_index, double confidence) {
  const TraceRank& rank = trace.ranks[static_cast<size_t>(rank_index)];
  return {.host = HostNameOf(trace, rank_index),
          .rank = rank.rank,
          .gpu = rank.gpu,
          .pid = rank.pid,
          .confidence = confidence};
}

}  // namespace lockstep
