#include "proto/packed_pull.h"

#include <zstd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// 100 KB in a millisecond or so, on a machine that a job wants for itself.
constexpr int kCompressionLevel = 1;

}  // namespace

void PackPulled(wire::CommandResult& result) {
  wire::PulledBatches batches;
  batches.mutable_pulled()->Swap(result.mutable_pulled());
  const std::string plain = batches.SerializeAsString();
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), kCompressionLevel);
  if (ZSTD_isError(size) != 0 || size >= plain.size()) {
    batches.mutable_pulled()->Swap(result.mutable_pulled());
    return;
  }
  packed.resize(size);
  result.set_packed_pulled(std::move(packed));
}

absl::StatusOr<wire::PulledBatches> UnpackPulled(const std::string& packed, size_t& max_bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());  // NOLINT: zstd's own type
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return absl::InvalidArgumentError("packed_pulled: no zstd frame that tells its size");
  }
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("packed_pulled: ", size, " bytes, at most ", max_bytes, " are allowed"));
  }
  std::string plain(size, '\0');
  const size_t got = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  wire::PulledBatches batches;
  if (ZSTD_isError(got) != 0 || got != size || !batches.ParseFromString(plain)) {
    return absl::InvalidArgumentError("packed_pulled: damaged");
  }
  max_bytes -= size;
  return batches;
}

}  // namespace lockstep
