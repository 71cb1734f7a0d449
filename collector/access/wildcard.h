// A text with at most one gap, "team-*" or "spiffe://example.org/agent/{host}": what rules match names with.
//
// One gap, so that matching takes one comparison of each end, whatever a stranger calls himself. Pure values;
// thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_WILDCARD_H_
#define LOCKSTEP_COLLECTOR_ACCESS_WILDCARD_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

class Wildcard {
 public:
  // `gap` stands for the part that varies. INVALID_ARGUMENT if it occurs twice, or if `text` is empty.
  static absl::StatusOr<Wildcard> Parse(absl::string_view text, absl::string_view gap);

  // What stands in the gap, "" where there is none; nothing if `text` does not match.
  std::optional<absl::string_view> Match(absl::string_view text) const;

  bool has_gap() const { return has_gap_; }
  bool operator==(const Wildcard&) const = default;

 private:
  std::string before_;
  std::string behind_;
  bool has_gap_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_WILDCARD_H_
