#include "detector/model/tuning.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

// By value of the enumeration; unknown has no name.
constexpr absl::string_view kAlgorithms[] = {
    "",     "tree",      "ring", "CollNet direct",   "CollNet chain",
    "NVLS", "NVLS tree", "PAT",  "symmetric memory", "copy engine",
};
static_assert(std::size(kAlgorithms) == static_cast<size_t>(CollectiveAlgorithm::kCopyEngine) + 1);
constexpr absl::string_view kProtocols[] = {"", "LL", "LL128", "Simple"};
static_assert(std::size(kProtocols) == static_cast<size_t>(CollectiveProtocol::kSimple) + 1);

template <typename Value>
bool Differ(Value a, Value b) {
  return a != Value{} && b != Value{} && a != b;
}

void Append(absl::string_view part, std::string* text) {
  if (!part.empty()) absl::StrAppend(text, text->empty() ? "" : ", ", part);
}

}  // namespace

bool Contradict(const Tuning& a, const Tuning& b) {
  return Differ(a.algorithm, b.algorithm) || Differ(a.protocol, b.protocol) || Differ(a.channels, b.channels);
}

std::string Describe(const Tuning& tuning) {
  std::string text;
  Append(kAlgorithms[static_cast<size_t>(tuning.algorithm)], &text);
  Append(kProtocols[static_cast<size_t>(tuning.protocol)], &text);
  if (tuning.channels > 0)
    Append(absl::StrCat(tuning.channels, tuning.channels == 1 ? " channel" : " channels"), &text);
  return text;
}

}  // namespace lockstep
