// All of a small input in memory.

#ifndef LOCKSTEP_FORMATS_WHOLE_FILE_H_
#define LOCKSTEP_FORMATS_WHOLE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "formats/byte_source.h"

namespace lockstep {

// DATA_LOSS for more than `max_bytes`; otherwise the errors of ByteSource.
absl::StatusOr<std::string> ReadWhole(ByteSource& source, size_t max_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_WHOLE_FILE_H_
