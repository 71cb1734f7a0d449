// Minder's model file: as it is, and with its checksum put right, so that what lies behind the checksum is reached.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "eval/minder/minder_model.h"

namespace {

std::string Sealed(absl::string_view body) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char byte : body) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
  std::string sealed(body);
  for (int i = 0; i < 8; ++i) sealed.push_back(static_cast<char>(hash >> (8 * i) & 0xFF));
  return sealed;
}

// Whatever is accepted is exactly what would be written.
void Decode(absl::string_view bytes) {
  const absl::StatusOr<lockstep::MinderModel> model = lockstep::DecodeMinderModel(bytes);
  if (model.ok()) CHECK(lockstep::EncodeMinderModel(*model) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  Decode(bytes);
  Decode(Sealed(bytes));
  Decode(Sealed("LKSMNDR1" + std::string(bytes)));
  return 0;
}
