#include "detector/steps/telling_sizes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/shares.h"

namespace lockstep {
namespace {

// So few that they cannot be one per step, or chance's. By judgement, not measured.
constexpr size_t kFewSizes = 16;
// More are no step's. Bound of memory, with kMinRepeats.
constexpr size_t kMostSizes = 4096;
// Occurrences of a size, in the mean: two are no repetition.
constexpr size_t kMinRepeats = 3;
// Of the calls, that follow the size which they mostly follow: lost records break two of these pairs each.
constexpr double kInOrder = kNearlyAll;

// Sizes of a place in the step come in nearly all of the history; those that one batch decides, in one part of it.
bool RecurThroughout(absl::Span<const uint64_t> bytes) {
  std::map<uint64_t, std::pair<size_t, size_t>> seen;  // size -> first and last call
  for (size_t i = 0; i < bytes.size(); ++i) seen.try_emplace(bytes[i], i, i).first->second.second = i;
  const auto recurring = std::count_if(seen.begin(), seen.end(), [&](const auto& size) {
    const auto& [first, last] = size.second;
    return static_cast<double>(last - first) >= kMinorPart * static_cast<double>(bytes.size());
  });
  return static_cast<double>(recurring) >= kMainPart * static_cast<double>(seen.size());
}

using Followers = std::map<uint64_t, std::map<uint64_t, size_t>>;  // size -> next size -> how often

// Sizes are places in a step where one leads to the next, and hardly any to itself.
bool LeadToOneAnother(const Followers& followers, size_t pairs) {
  size_t usual = 0, to_others = 0;
  for (const auto& [size, next] : followers) {
    const auto most =
        std::max_element(next.begin(), next.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    usual += most->second;
    to_others += most->first != size ? 1 : 0;
  }
  return static_cast<double>(usual) >= kInOrder * static_cast<double>(pairs) &&
         static_cast<double>(to_others) >= kMainPart * static_cast<double>(followers.size());
}

}  // namespace

bool SizesTell(absl::Span<const uint64_t> bytes) {
  std::vector<uint64_t> sizes(bytes.begin(), bytes.end());
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() <= kFewSizes) return true;
  if (sizes.size() > kMostSizes || bytes.size() < kMinRepeats * sizes.size()) return false;
  if (!RecurThroughout(bytes)) return false;
  Followers followers;
  for (size_t i = 0; i + 1 < bytes.size(); ++i) ++followers[bytes[i]][bytes[i + 1]];
  return LeadToOneAnother(followers, bytes.size() - 1);
}

}  // namespace lockstep
