#include "formats/byte_source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr int kGzipWindow = 15 + 16;   // zlib: the largest window, gzip header expected
constexpr int kMaxZstdWindowLog = 27;  // 128 MiB: what `zstd --long` writes by default, and no more memory than that
constexpr absl::string_view kGzipMagic("\x1f\x8b", 2);
constexpr absl::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

class GzipDecompressor final : public Decompressor {
 public:
  GzipDecompressor() { CHECK(inflateInit2(&stream_, kGzipWindow) == Z_OK); }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  absl::StatusOr<Step> Advance(const char* in, size_t in_size, char* out, size_t out_size) override {
    if (ended_) {  // another member follows
      CHECK(inflateReset(&stream_) == Z_OK);
      ended_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));  // zlib only reads
    stream_.avail_in = static_cast<uInt>(in_size);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(out_size);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return absl::InvalidArgumentError(stream_.msg != nullptr ? stream_.msg : "invalid gzip data");
    }
    ended_ = result == Z_STREAM_END;
    return Step{in_size - stream_.avail_in, out_size - stream_.avail_out, ended_};
  }

 private:
  z_stream stream_ = {};
  bool ended_ = false;
};

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    CHECK(context_ != nullptr);
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }

  absl::StatusOr<Step> Advance(const char* in, size_t in_size, char* out, size_t out_size) override {
    ZSTD_inBuffer input{in, in_size, 0};
    ZSTD_outBuffer output{out, out_size, 0};
    const size_t hint = ZSTD_decompressStream(context_.get(), &output, &input);
    if (ZSTD_isError(hint)) return absl::InvalidArgumentError(ZSTD_getErrorName(hint));
    return Step{input.pos, output.pos, hint == 0};
  }

 private:
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
};

std::unique_ptr<Decompressor> DecompressorFor(absl::string_view beginning) {
  if (beginning.substr(0, kGzipMagic.size()) == kGzipMagic) return std::make_unique<GzipDecompressor>();
  if (beginning.substr(0, kZstdMagic.size()) == kZstdMagic) return std::make_unique<ZstdDecompressor>();
  return nullptr;
}

}  // namespace

ByteSource::ByteSource(std::unique_ptr<std::istream> stream) : stream_(std::move(stream)), block_(kBlockBytes) {}

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0)
    return absl::FailedPreconditionError(absl::StrCat("cannot open: ", strerror(errno)));
  // A pipe or device could block for ever, or never end.
  if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError("cannot open: not a regular file");
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) return absl::FailedPreconditionError(absl::StrCat("cannot open: ", strerror(errno)));
  return FromStream(std::move(file));
}

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::FromStream(std::unique_ptr<std::istream> stream) {
  std::unique_ptr<ByteSource> source(new ByteSource(std::move(stream)));
  source->Refill();
  source->decompressor_ = DecompressorFor({source->block_.data(), source->block_end_});
  return source;
}

void ByteSource::Refill() {
  stream_->read(block_.data(), static_cast<std::streamsize>(block_.size()));
  block_at_ = 0;
  block_end_ = static_cast<size_t>(stream_->gcount());
  file_bytes_read_ += block_end_;
  if (progress_ != nullptr) progress_(file_bytes_read_);
}

absl::Status ByteSource::Damaged(absl::string_view why) const {
  return absl::DataLossError(
      absl::StrCat("compressed data damaged near byte ", file_bytes_read_ - (block_end_ - block_at_), ": ", why));
}

absl::StatusOr<size_t> ByteSource::Read(char* out, size_t size) {
  if (size == 0) return size_t{0};
  if (decompressor_ != nullptr) return Decompress(out, size);
  if (block_at_ == block_end_) Refill();
  const size_t count = std::min(size, block_end_ - block_at_);
  memcpy(out, block_.data() + block_at_, count);
  block_at_ += count;
  return count;
}

absl::StatusOr<size_t> ByteSource::Decompress(char* out, size_t size) {
  while (true) {
    if (block_at_ == block_end_) Refill();
    const bool at_end = block_at_ == block_end_;
    if (at_end && between_frames_) return size_t{0};
    const absl::StatusOr<Decompressor::Step> step =
        decompressor_->Advance(block_.data() + block_at_, block_end_ - block_at_, out, size);
    if (!step.ok()) return Damaged(step.status().message());
    block_at_ += step->consumed;
    between_frames_ = step->between_frames;
    plain_bytes_ += step->produced;
    if (plain_bytes_ > kFreeExpansionBytes + kMaxExpansion * file_bytes_read_) {
      return Damaged(absl::StrCat("expands by more than ", kMaxExpansion));
    }
    if (step->produced > 0) return step->produced;
    if (at_end && !between_frames_) return Damaged("expected more compressed data, found the end of the file");
  }
}

}  // namespace lockstep
