// CHECK: stops the process on what only a bug of ours can cause. Input from outside is answered with a Status instead.

#ifndef LOCKSTEP_BASE_CHECK_H_
#define LOCKSTEP_BASE_CHECK_H_

namespace lockstep {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace lockstep

#define CHECK(condition) \
  (__builtin_expect(!!(condition), 1) ? void(0) : ::lockstep::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // LOCKSTEP_BASE_CHECK_H_
