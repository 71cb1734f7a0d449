#include "eval/scoring/answer_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr size_t kVerdictsShown = 4;
constexpr size_t kCulpritsShown = 4;

std::string CulpritText(const Culprit& culprit) {
  std::string text = culprit.host;
  if (culprit.rank >= 0) absl::StrAppend(&text, "/rank", culprit.rank);
  if (!culprit.peer_host.empty()) absl::StrAppend(&text, "->", culprit.peer_host);
  return text;
}

}  // namespace

std::string AnswerText(const JobReport& report) {
  std::string text = Name(report.state);
  for (size_t i = 0; i < std::min(report.verdicts.size(), kVerdictsShown); ++i) {
    const Verdict& verdict = report.verdicts[i];
    absl::StrAppend(&text, "; ", Name(verdict.scope), " ", Name(verdict.verdict_class));
    absl::StrAppendFormat(&text, " %.1f%%", 100 * verdict.cost.slowdown_fraction);
    for (size_t j = 0; j < std::min(verdict.culprits.size(), kCulpritsShown); ++j) {
      absl::StrAppend(&text, j == 0 ? " " : ",", CulpritText(verdict.culprits[j]));
    }
    if (verdict.culprits.size() > kCulpritsShown) absl::StrAppend(&text, ",... (", verdict.culprits.size(), ")");
  }
  if (report.verdicts.size() > kVerdictsShown) absl::StrAppend(&text, "; ... (", report.verdicts.size(), " verdicts)");
  return text;
}

}  // namespace lockstep
