#include "detector/steps/telling_sizes.h"

#include <algorithm>
#include <cstddef>
#include <map>
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
  Followers followers;
  for (size_t i = 0; i + 1 < bytes.size(); ++i) ++followers[bytes[i]][bytes[i + 1]];
  return LeadToOneAnother(followers, bytes.size() - 1);
}

}  // namespace lockstep
