#include "collector/alert/answer_verdict.h"

#include "absl/strings/str_cat.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Outcome = AnswerVerdict::Outcome;

constexpr int kRequestTimeout = 408;
constexpr int kTooManyRequests = 429;
constexpr size_t kMaxQuoteBytes = 200;

bool MayBeDifferentNextTime(int status) {
  return status == 0 || status == kRequestTimeout || status == kTooManyRequests || status >= 500 ||
         (status >= 300 && status < 400);
}

std::string WithQuote(const HttpAnswer& answer) {
  const std::string status = absl::StrCat("status ", answer.status);
  return answer.body.empty() ? status : absl::StrCat(status, ": ", CutText(answer.body, kMaxQuoteBytes));
}

}  // namespace

AnswerVerdict VerdictOfStatus(const HttpAnswer& answer) {
  if (answer.status >= 200 && answer.status < 300) return {.outcome = Outcome::kTaken};
  return {.outcome = MayBeDifferentNextTime(answer.status) ? Outcome::kLater : Outcome::kRefused,
          .why = answer.status == 0 ? answer.error : WithQuote(answer)};
}

AnswerVerdict NotItsAnswer(const HttpAnswer& answer) {
  return {.outcome = Outcome::kLater, .why = absl::StrCat("not the receiver's own answer, ", WithQuote(answer))};
}

}  // namespace lockstep
