#include "formats/kineto_walk.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

absl::Status WalkEvents(JsonStream& stream, KinetoHandler& handler) {
  RETURN_IF_ERROR(stream.Expect('['));
  ASSIGN_OR_RETURN(char next, stream.Peek());
  while (next != ']') {
    ASSIGN_OR_RETURN(const absl::string_view text, stream.Value());
    handler.TakeEvent(text);
    ASSIGN_OR_RETURN(next, stream.Peek());
    if (next == ']') break;
    RETURN_IF_ERROR(stream.Expect(','));
    ASSIGN_OR_RETURN(next, stream.Peek());
  }
  return stream.Expect(']');
}

absl::Status WalkMember(JsonStream& stream, KinetoHandler& handler) {
  ASSIGN_OR_RETURN(const absl::string_view quoted, stream.Value());
  const std::string key(absl::StripSuffix(absl::StripPrefix(quoted, "\""), "\""));
  RETURN_IF_ERROR(stream.Expect(':'));
  if (key == "traceEvents") return WalkEvents(stream, handler);
  ASSIGN_OR_RETURN(const absl::string_view value, stream.Value());
  handler.TakeMember(key, value);
  return absl::OkStatus();
}

}  // namespace

absl::Status WalkKineto(ByteSource& source, KinetoHandler& handler, size_t most_value_bytes) {
  JsonStream stream(source, most_value_bytes);
  ASSIGN_OR_RETURN(const char first, stream.Peek());
  if (first == '[') return WalkEvents(stream, handler);
  RETURN_IF_ERROR(stream.Expect('{'));
  ASSIGN_OR_RETURN(char next, stream.Peek());
  while (next != '}') {
    RETURN_IF_ERROR(WalkMember(stream, handler));
    ASSIGN_OR_RETURN(next, stream.Peek());
    if (next == '}') break;
    RETURN_IF_ERROR(stream.Expect(','));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
