#include "formats/whole_file.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kFirstBlockBytes = size_t{256} << 10;

}  // namespace

absl::StatusOr<std::string> ReadWhole(ByteSource& source, size_t max_bytes) {
  std::string bytes;
  size_t size = 0;
  while (true) {
    if (size == bytes.size()) bytes.resize(std::min(max_bytes + 1, std::max(kFirstBlockBytes, 2 * size)));
    ASSIGN_OR_RETURN(const size_t count, source.Read(bytes.data() + size, bytes.size() - size));
    size += count;
    if (size > max_bytes) {
      return absl::DataLossError(absl::StrCat("expected at most ", max_bytes, " bytes, found more"));
    }
    if (count == 0) break;
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace lockstep
