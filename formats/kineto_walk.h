// Walks through a Kineto (Chrome) trace: hands over each event of its array, and each other member, as text.
//
// A bare array of events is a trace too. Memory: the largest value, at most the limit. Errors: those of JsonStream.
// Not thread-safe.

#ifndef LOCKSTEP_FORMATS_KINETO_WALK_H_
#define LOCKSTEP_FORMATS_KINETO_WALK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/byte_source.h"
#include "formats/json_stream.h"

namespace lockstep {

// Views live during a call and have kJsonPadding readable bytes behind them.
class KinetoHandler {
 public:
  virtual ~KinetoHandler() = default;
  virtual void TakeEvent(absl::string_view text) = 0;
  // `key` without quotes, `value` as JSON.
  virtual void TakeMember(absl::string_view key, absl::string_view value) = 0;
};

// Everything up to the first damage.
absl::Status WalkKineto(ByteSource& source, KinetoHandler& handler, size_t most_value_bytes = kMaxJsonValueBytes);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_KINETO_WALK_H_
