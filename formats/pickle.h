// Reads a pickle that holds plain data only: dict, list, tuple (as list), str, int, float, bool, None.
//
// A pickle is a program for a stack machine, and unpickling with the full machine runs code that the file chooses. This
// machine has no opcode that names, builds or calls anything: every other one is refused by name and offset. What
// PyTorch's Flight Recorder writes (protocol 2), and the framing of protocol 4 around the same data.
//
// Errors: INVALID_ARGUMENT "byte 17: expected ..., found ...". Integers must fit 64 bits. Memory: the document; the
// stack and the memo hold numbers of nodes.

#ifndef LOCKSTEP_FORMATS_PICKLE_H_
#define LOCKSTEP_FORMATS_PICKLE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/plain_document.h"

namespace lockstep {

absl::StatusOr<PlainDocument> ParsePickle(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_PICKLE_H_
