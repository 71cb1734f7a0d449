#include "detector/verdict/wording.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

// Of what people read: a line.
constexpr size_t kMaxListed = 8;

}  // namespace

std::string Text(const RankName& rank) {
  return absl::StrCat("rank ", rank.rank, rank.host.empty() ? "" : absl::StrCat(" (host ", rank.host, ")"));
}

std::string Text(std::vector<int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kMaxListed); ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMaxListed) absl::StrAppend(&text, " and ", ranks.size() - kMaxListed, " more");
  return text;
}

std::string Text(const CommunicatorName& communicator) {
  return absl::StrCat("communicator ", communicator.name, " (",
                      communicator.hint.empty() ? "" : absl::StrCat(communicator.hint, ", "), communicator.members,
                      " members)");
}

std::string Text(const OperationName& operation) {
  return absl::StrCat(Name(operation.kind), " ", operation.sequence, " of ", Text(operation.communicator));
}

std::string Duration(double seconds) {
  const double size = std::abs(seconds);
  if (size >= 1) return absl::StrFormat("%.1f s", seconds);
  if (size >= 1e-3) return absl::StrFormat("%.1f ms", seconds * 1e3);
  return absl::StrFormat("%.0f us", seconds * 1e6);
}

std::string Capitalized(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text;
}

std::string Sentences(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    if (!sentence.empty()) absl::StrAppend(&text, text.empty() ? "" : " ", sentence);
  }
  return text;
}

}  // namespace lockstep
