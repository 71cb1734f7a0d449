#include "formats/file_writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kGzipLevel = 6;
constexpr int kZstdLevel = 3;
constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with a gzip header
constexpr int kGzipMemoryLevel = 8;
constexpr size_t kFlushBytes = size_t{256} << 10;
constexpr size_t kBlockBytes = size_t{64} << 10;

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() {
    CHECK(deflateInit2(&stream_, kGzipLevel, Z_DEFLATED, kGzipWindow, kGzipMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  void Compress(absl::string_view bytes, bool end, std::string& out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads
    stream_.avail_in = static_cast<uInt>(bytes.size());
    char block[kBlockBytes];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(block);
      stream_.avail_out = sizeof(block);
      CHECK(deflate(&stream_, end ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR);
      out.append(block, sizeof(block) - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_ = {};
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    CHECK(context_ != nullptr);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void Compress(absl::string_view bytes, bool end, std::string& out) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    char block[kBlockBytes];
    size_t left = 0;
    do {
      ZSTD_outBuffer produced{block, sizeof(block), 0};
      left = ZSTD_compressStream2(context_.get(), &produced, &in, end ? ZSTD_e_end : ZSTD_e_continue);
      CHECK(!ZSTD_isError(left));  // only misuse of the library fails here
      out.append(block, produced.pos);
    } while (end ? left != 0 : in.pos < in.size);
  }

 private:
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
};

std::unique_ptr<Compressor> CompressorFor(absl::string_view path) {
  if (absl::EndsWith(path, ".gz")) return std::make_unique<GzipCompressor>();
  if (absl::EndsWith(path, ".zst")) return std::make_unique<ZstdCompressor>();
  return nullptr;
}

absl::Status WriteError(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
}

}  // namespace

FileWriter::FileWriter(const std::string& path)
    : path_(path),
      temporary_path_(absl::StrCat(path, ".", getpid(), ".partial")),
      file_(temporary_path_, std::ios::binary | std::ios::trunc),
      compressor_(CompressorFor(path)) {}

FileWriter::~FileWriter() {
  if (closed_) return;
  file_.close();
  unlink(temporary_path_.c_str());
}

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::Create(const std::string& path) {
  std::unique_ptr<FileWriter> writer(new FileWriter(path));
  if (!writer->file_) return WriteError(path);
  return writer;
}

absl::Status FileWriter::Append(absl::string_view bytes) {
  pending_.append(bytes.data(), bytes.size());
  return pending_.size() < kFlushBytes ? absl::OkStatus() : Flush(/*end=*/false);
}

absl::Status FileWriter::Flush(bool end) {
  std::string compressed;
  if (compressor_ != nullptr) compressor_->Compress(pending_, end, compressed);
  const std::string& bytes = compressor_ != nullptr ? compressed : pending_;
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  pending_.clear();
  return file_ ? absl::OkStatus() : WriteError(path_);
}

absl::Status FileWriter::Close() {
  RETURN_IF_ERROR(Flush(/*end=*/true));
  file_.close();
  if (!file_ || rename(temporary_path_.c_str(), path_.c_str()) != 0) return WriteError(path_);
  closed_ = true;
  return absl::OkStatus();
}

}  // namespace lockstep
