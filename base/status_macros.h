// The two macros that keep error handling readable. Both return from the enclosing function; neither logs.

#ifndef LOCKSTEP_BASE_STATUS_MACROS_H_
#define LOCKSTEP_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expression` if it is an error.
#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    absl::Status lockstep_status_ = (expression);        \
    if (!lockstep_status_.ok()) return lockstep_status_; \
  } while (false)

// Assigns the value of the StatusOr `expression` to `target` (a declaration or an lvalue), or returns its error.
#define ASSIGN_OR_RETURN(target, expression) \
  LOCKSTEP_ASSIGN_OR_RETURN_(LOCKSTEP_CONCAT_(lockstep_status_or_, __LINE__), target, expression)

#define LOCKSTEP_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_CONCAT_(a, b) LOCKSTEP_CONCAT_INNER_(a, b)
#define LOCKSTEP_ASSIGN_OR_RETURN_(temporary, target, expression) \
  auto temporary = (expression);                                  \
  if (!temporary.ok()) return std::move(temporary).status();      \
  target = *std::move(temporary)

#endif  // LOCKSTEP_BASE_STATUS_MACROS_H_
