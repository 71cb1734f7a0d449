// GoogleTest matchers for absl::Status and absl::StatusOr, which the packaged Abseil lacks.

#ifndef LOCKSTEP_BASE_TESTING_STATUS_MATCHERS_H_
#define LOCKSTEP_BASE_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// Matches an error of `code` whose message matches `message`.
MATCHER_P2(StatusIs, code, message, "has the expected code and message") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(StatusOf(arg).message()), result_listener);
}

}  // namespace lockstep

#define ASSERT_OK(expression) ASSERT_THAT(expression, ::lockstep::IsOk())
#define EXPECT_OK(expression) EXPECT_THAT(expression, ::lockstep::IsOk())

#endif  // LOCKSTEP_BASE_TESTING_STATUS_MATCHERS_H_
