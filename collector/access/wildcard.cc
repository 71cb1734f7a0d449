#include "collector/access/wildcard.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

absl::StatusOr<Wildcard> Wildcard::Parse(absl::string_view text, absl::string_view gap) {
  if (text.empty()) return absl::InvalidArgumentError("must not be empty");
  Wildcard wildcard;
  const size_t at = text.find(gap);
  wildcard.before_ = std::string(text.substr(0, at));
  if (at == absl::string_view::npos) return wildcard;
  wildcard.has_gap_ = true;
  wildcard.behind_ = std::string(text.substr(at + gap.size()));
  if (absl::StrContains(wildcard.behind_, gap)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "': ", gap, " may stand there once"));
  }
  return wildcard;
}

std::optional<absl::string_view> Wildcard::Match(absl::string_view text) const {
  if (!has_gap_) return text == before_ ? std::optional<absl::string_view>("") : std::nullopt;
  if (text.size() < before_.size() + behind_.size()) return std::nullopt;
  if (!absl::StartsWith(text, before_) || !absl::EndsWith(text, behind_)) return std::nullopt;
  return text.substr(before_.size(), text.size() - before_.size() - behind_.size());
}

}  // namespace lockstep
