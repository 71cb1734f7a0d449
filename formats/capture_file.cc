#include "formats/capture_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kCompressionLevel = 6;
constexpr char kMagic[] = "LOCKCAP\n";
// A skippable frame of 12 bytes; see the zstd frame format.
constexpr char kFrameHeader[] = "\x50\x2A\x4D\x18\x0C\x00\x00\x00";
constexpr size_t kHeaderBytes = 20;

std::string Header() {
  std::string header(kFrameHeader, 8);
  header.append(kMagic, 8);
  for (int shift = 0; shift < 32; shift += 8) header.push_back(static_cast<char>(kCaptureFormatVersion >> shift));
  CHECK(header.size() == kHeaderBytes);
  return header;
}

void AppendVarint(std::string& bytes, uint32_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

absl::Status SystemError(const std::string& path, const char* what) {
  return absl::FailedPreconditionError(absl::StrCat("cannot ", what, " ", path, ": ", strerror(errno)));
}

// Cuts the decompressed stream into entries. Holds at most one unfinished entry. Not thread-safe.
class EntryParser {
 public:
  explicit EntryParser(const std::function<absl::Status(const wire::CaptureEntry&)>& visit) : visit_(visit) {}

  absl::Status Feed(absl::string_view bytes) {
    pending_.append(bytes.data(), bytes.size());
    size_t at = 0;
    while (true) {
      size_t cursor = at;
      uint64_t length = 0;
      ASSIGN_OR_RETURN(const bool whole, ReadLength(cursor, length));
      if (!whole || pending_.size() - cursor < length) break;
      wire::CaptureEntry entry;
      if (!entry.ParseFromArray(pending_.data() + cursor, static_cast<int>(length))) {
        return absl::DataLossError(absl::StrCat("entry ", entries_ + 1, " does not decode"));
      }
      ++entries_;
      RETURN_IF_ERROR(visit_(entry));
      at = cursor + length;
    }
    pending_.erase(0, at);
    return absl::OkStatus();
  }

  bool between_entries() const { return pending_.empty(); }
  uint64_t entries() const { return entries_; }

 private:
  // False when the length itself is not complete yet.
  absl::StatusOr<bool> ReadLength(size_t& cursor, uint64_t& length) const {
    for (int shift = 0; cursor < pending_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(pending_[cursor++]);
      length |= uint64_t{byte & 0x7Fu} << shift;
      if (length > kMaxCaptureEntryBytes || shift > 28) {
        return absl::DataLossError(
            absl::StrCat("entry ", entries_ + 1, " claims more than ", kMaxCaptureEntryBytes, " bytes"));
      }
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  const std::function<absl::Status(const wire::CaptureEntry&)>& visit_;
  std::string pending_;
  uint64_t entries_ = 0;
};

absl::Status Damaged(const std::string& path, uint64_t offset, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": damaged at byte ", offset, ": ", why));
}

absl::Status CheckHeader(const std::string& path, std::istream& file) {
  char header[kHeaderBytes] = {};
  file.read(header, kHeaderBytes);
  const auto got = static_cast<size_t>(file.gcount());
  if (memcmp(header, Header().data(), std::min<size_t>(got, 16)) != 0 || got == 0) {
    return absl::DataLossError(absl::StrCat(path, ": not a Lockstep capture (bad magic at byte 0)"));
  }
  if (got < kHeaderBytes) return absl::DataLossError(absl::StrCat(path, ": cut short at byte ", got));
  uint32_t version = 0;
  for (int i = 0; i < 4; ++i) version |= uint32_t{static_cast<unsigned char>(header[16 + i])} << (8 * i);
  if (version != kCaptureFormatVersion) {
    return absl::DataLossError(
        absl::StrCat(path, ": format version ", version, " at byte 16; this program reads ", kCaptureFormatVersion));
  }
  return absl::OkStatus();
}

// Decompresses what follows the header into `parser`.
absl::Status ReadFrame(const std::string& path, std::istream& file, EntryParser& parser) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> decompressor(ZSTD_createDCtx(), ZSTD_freeDCtx);
  CHECK(decompressor != nullptr);
  std::vector<char> input(ZSTD_DStreamInSize());
  std::vector<char> output(ZSTD_DStreamOutSize());
  uint64_t offset = kHeaderBytes;
  size_t hint = 1;  // 0 = the frame has ended
  while (file) {
    file.read(input.data(), static_cast<std::streamsize>(input.size()));
    ZSTD_inBuffer in{input.data(), static_cast<size_t>(file.gcount()), 0};
    bool output_full = false;
    while (in.pos < in.size || output_full) {
      if (hint == 0) return Damaged(path, offset + in.pos, "bytes after the end");
      ZSTD_outBuffer out{output.data(), output.size(), 0};
      hint = ZSTD_decompressStream(decompressor.get(), &out, &in);
      if (ZSTD_isError(hint)) return Damaged(path, offset + in.pos, ZSTD_getErrorName(hint));
      output_full = out.pos == out.size && hint != 0;
      const absl::Status fed = parser.Feed({output.data(), out.pos});
      if (absl::IsDataLoss(fed)) return Damaged(path, offset + in.pos, fed.message());
      RETURN_IF_ERROR(fed);
    }
    offset += in.size;
  }
  if (hint != 0 || !parser.between_entries()) {
    return absl::DataLossError(
        absl::StrCat(path, ": cut short at byte ", offset, ", after ", parser.entries(), " whole entries"));
  }
  return absl::OkStatus();
}

}  // namespace

CaptureFileWriter::CaptureFileWriter(const std::string& path)
    : path_(path),
      temporary_path_(absl::StrCat(path, ".", getpid(), ".partial")),
      file_(temporary_path_, std::ios::binary | std::ios::trunc),
      compressor_(ZSTD_createCCtx()),
      output_(ZSTD_CStreamOutSize()) {
  CHECK(compressor_ != nullptr);
  ZSTD_CCtx_setParameter(compressor_, ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(compressor_, ZSTD_c_checksumFlag, 1);
}

CaptureFileWriter::~CaptureFileWriter() {
  ZSTD_freeCCtx(compressor_);
  if (closed_) return;
  file_.close();
  unlink(temporary_path_.c_str());
}

absl::StatusOr<std::unique_ptr<CaptureFileWriter>> CaptureFileWriter::Create(const std::string& path) {
  std::unique_ptr<CaptureFileWriter> writer(new CaptureFileWriter(path));
  if (!writer->file_) return SystemError(path, "create");
  const std::string header = Header();
  RETURN_IF_ERROR(writer->Write(header.data(), header.size()));
  return writer;
}

absl::Status CaptureFileWriter::Append(const wire::CaptureEntry& entry) {
  const std::string payload = entry.SerializeAsString();
  if (payload.size() > kMaxCaptureEntryBytes) {
    return absl::DataLossError(absl::StrCat("entry ", entries_ + 1, " has ", payload.size(), " bytes, more than the ",
                                            kMaxCaptureEntryBytes, " that a capture file holds"));
  }
  std::string record;
  AppendVarint(record, static_cast<uint32_t>(payload.size()));
  record += payload;
  ++entries_;
  return Compress(record, /*end=*/false);
}

absl::Status CaptureFileWriter::Close() {
  RETURN_IF_ERROR(Compress("", /*end=*/true));
  file_.close();
  if (!file_) return SystemError(path_, "write");
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) return SystemError(path_, "create");
  closed_ = true;
  return absl::OkStatus();
}

absl::Status CaptureFileWriter::Compress(const std::string& bytes, bool end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 1;
  do {
    ZSTD_outBuffer out{output_.data(), output_.size(), 0};
    left = ZSTD_compressStream2(compressor_, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    CHECK(!ZSTD_isError(left));  // only misuse of the library fails here
    RETURN_IF_ERROR(Write(output_.data(), out.pos));
  } while (end ? left != 0 : in.pos < in.size);
  return absl::OkStatus();
}

absl::Status CaptureFileWriter::Write(const char* bytes, size_t size) {
  file_.write(bytes, static_cast<std::streamsize>(size));
  if (!file_) return SystemError(path_, "write");
  file_bytes_ += size;
  return absl::OkStatus();
}

absl::Status ReadCaptureFile(const std::string& path,
                             const std::function<absl::Status(const wire::CaptureEntry&)>& visit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return SystemError(path, "open");
  return ReadCapture(path, file, visit);
}

absl::Status ReadCapture(const std::string& name, std::istream& bytes,
                         const std::function<absl::Status(const wire::CaptureEntry&)>& visit) {
  RETURN_IF_ERROR(CheckHeader(name, bytes));
  EntryParser parser(visit);
  return ReadFrame(name, bytes, parser);
}

}  // namespace lockstep
