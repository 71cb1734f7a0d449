// A JSON text as plain data.

#ifndef LOCKSTEP_FORMATS_PLAIN_JSON_H_
#define LOCKSTEP_FORMATS_PLAIN_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "formats/plain_document.h"

namespace lockstep {

// INVALID_ARGUMENT with the parser's word for what is wrong. At most 256 levels deep.
absl::StatusOr<PlainDocument> ParsePlainJson(const std::string& text);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_PLAIN_JSON_H_
