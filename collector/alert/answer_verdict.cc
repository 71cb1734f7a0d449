#include "collector/alert/answer_verdict.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Outcome = AnswerVerdict::Outcome;

constexpr size_t kMaxQuoteBytes = 200;

// That the message is wrong: malformed, too large, not what it should be.
constexpr int kOfTheMessage[] = {400, 413, 422};

std::string WithQuote(const HttpAnswer& answer) {
  const std::string status = absl::StrCat("status ", answer.status);
  return answer.body.empty() ? status : absl::StrCat(status, ": ", CutText(answer.body, kMaxQuoteBytes));
}

}  // namespace

AnswerVerdict VerdictOfStatus(const HttpAnswer& answer) {
  if (answer.status >= 200 && answer.status < 300) return {.outcome = Outcome::kTaken};
  const bool is_final =
      std::find(std::begin(kOfTheMessage), std::end(kOfTheMessage), answer.status) != std::end(kOfTheMessage);
  return {.outcome = is_final ? Outcome::kRefused : Outcome::kLater,
          .why = answer.status == 0 ? answer.error : WithQuote(answer)};
}

AnswerVerdict NotItsAnswer(const HttpAnswer& answer) {
  return {.outcome = Outcome::kLater, .why = absl::StrCat("not the receiver's own answer, ", WithQuote(answer))};
}

}  // namespace lockstep
