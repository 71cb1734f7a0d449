// A capture from anywhere: as the bytes of a file, and as the content of a file that is whole, which is the only way
// past its checksum. Whatever decodes is replayed.

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "collector/replay/replay.h"
#include "formats/capture_file.h"

namespace lockstep {
namespace {

// Version 1, as docs/cli.md describes it.
constexpr char kHeader[] = "\x50\x2A\x4D\x18\x0C\x00\x00\x00LOCKCAP\n\x01\x00\x00\x00";

std::string Wrap(absl::string_view content) {
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const size_t size = ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), /*level=*/1);
  CHECK(!ZSTD_isError(size));
  frame.resize(size);
  return std::string(kHeader, sizeof(kHeader) - 1) + frame;
}

void Replay(const std::string& file) {
  Replayer replayer(JobEngineOptions(), [](absl::string_view line) { CHECK(!line.empty()); });
  std::istringstream bytes(file);
  const absl::Status status = ReadCapture("fuzz", bytes, [&](const wire::CaptureEntry& entry) {
    const absl::Status fed = replayer.Feed(entry);
    CHECK(fed.ok() || absl::IsInvalidArgument(fed));
    return fed;
  });
  CHECK(status.ok() || absl::IsDataLoss(status) || absl::IsInvalidArgument(status));
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  lockstep::Replay(input);
  lockstep::Replay(lockstep::Wrap(input));
  return 0;
}
