// What is wrong for long is said once: the error that was told last. Thread-compatible.

#ifndef LOCKSTEP_BASE_TOLD_ERROR_H_
#define LOCKSTEP_BASE_TOLD_ERROR_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace lockstep {

class ToldError {
 public:
  // Whether it is another one than the last time, or all was well in between: then it is to be told.
  bool IsNews(absl::string_view error) { return std::exchange(told_, std::string(error)) != error; }
  // All is well.
  void Clear() { told_.clear(); }

 private:
  std::string told_;  // "" = nothing
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_TOLD_ERROR_H_
