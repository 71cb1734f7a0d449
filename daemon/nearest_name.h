// "Did you mean ...?": the name of a list that a mistyped one was probably meant to be. Pure.

#ifndef LOCKSTEP_DAEMON_NEAREST_NAME_H_
#define LOCKSTEP_DAEMON_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

// The candidate with the smallest edit distance to `name`, the first of equals; empty when even that one differs in
// more than a third of its letters (at least two). O(candidates x length^2).
std::string NearestName(absl::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" or nothing.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_NEAREST_NAME_H_
