// Bytes of tests as the readers want them: plain, compressed, cut and flipped; and where public recordings lie.
// Not thread-safe.

#ifndef LOCKSTEP_FORMATS_TESTING_TEST_BYTES_H_
#define LOCKSTEP_FORMATS_TESTING_TEST_BYTES_H_

#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/random.h"
#include "formats/byte_source.h"

namespace lockstep {

inline std::unique_ptr<ByteSource> SourceOf(std::string bytes) {
  return *ByteSource::FromStream(std::make_unique<std::istringstream>(std::move(bytes)));
}

inline std::string BytesOfFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string Gzipped(absl::string_view plain) {
  z_stream stream = {};
  deflateInit2(&stream, /*level=*/6, Z_DEFLATED, /*windowBits=*/15 + 16, /*memLevel=*/8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));  // zlib only reads
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// One frame with a checksum, so that no flipped byte goes unseen.
inline std::string Zstandard(absl::string_view plain) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), plain.data(), plain.size()));
  return out;
}

// The same bytes with a few of them changed, taken out or doubled.
inline std::string Damaged(std::string bytes, Random& random) {
  for (uint64_t edits = 1 + random.Below(4); edits > 0; --edits) {
    if (bytes.empty()) return bytes;
    const size_t at = random.Below(bytes.size());
    const size_t length = random.Below(16);
    switch (random.Below(3)) {
      case 0:
        bytes[at] = static_cast<char>(random.Below(256));
        break;
      case 1:
        bytes.erase(at, length);
        break;
      default:
        bytes.insert(at, bytes.substr(random.Below(bytes.size()), length));
    }
  }
  return bytes;
}

// The public recordings beside the repository; empty where they are not. `anchor` is a file of the tree among the
// test's data.
inline std::filesystem::path PublicRecordings(const std::string& anchor) {
  for (std::filesystem::path folder = std::filesystem::canonical(anchor).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "shared/data")) return folder / "shared/data";
  }
  return "";
}

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_TESTING_TEST_BYTES_H_
