#include "formats/process_group.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

constexpr size_t kListedRanks = 8;

uint32_t Fnv1a(absl::Span<const int32_t> ranks) {
  uint32_t hash = 0x811c9dc5;
  for (const int32_t rank : ranks) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((static_cast<uint32_t>(rank) >> shift) & 0xff)) * 0x01000193;
    }
  }
  return hash;
}

}  // namespace

std::vector<int32_t> ParseRankList(absl::string_view text) {
  std::vector<int32_t> ranks;
  if (!absl::ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]")) return ranks;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    int32_t rank = -1;
    if (!absl::SimpleAtoi(item, &rank) || rank < 0 || ranks.size() == kMaxGroupRanks) return {};
    ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int32_t> StridedRanks(int64_t start, int64_t stride, int64_t size) {
  const auto limit = static_cast<int64_t>(kMaxGroupRanks);
  std::vector<int32_t> ranks;
  if (start < 0 || start >= limit || stride < 1 || stride >= limit || size < 1 || size > limit) return ranks;
  if (start + stride * (size - 1) >= limit) return ranks;
  for (int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<int32_t>(start + stride * i));
  return ranks;
}

int32_t PositionIn(absl::Span<const int32_t> ranks, int32_t rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found != ranks.end() ? static_cast<int32_t>(found - ranks.begin()) : -1;
}

std::string CommunicatorName(absl::string_view group, absl::Span<const int32_t> ranks) {
  if (ranks.empty()) return std::string(group);
  if (ranks.size() <= kListedRanks) return absl::StrCat(group, "[", absl::StrJoin(ranks, ","), "]");
  return absl::StrCat(group, "[", ranks[0], ",", ranks[1], "..", ranks.back(), ";", ranks.size(), ";",
                      absl::StrFormat("%08x", Fnv1a(ranks)), "]");
}

}  // namespace lockstep
