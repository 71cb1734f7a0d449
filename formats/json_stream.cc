#include "formats/json_stream.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr size_t kFirstBufferBytes = size_t{4} << 20;

enum class Byte : uint8_t { kOther, kSpace, kQuote, kOpen, kClose, kComma };

constexpr std::array<Byte, 256> MakeClasses() {
  std::array<Byte, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n'}) classes[static_cast<unsigned char>(c)] = Byte::kSpace;
  for (const char c : {'{', '['}) classes[static_cast<unsigned char>(c)] = Byte::kOpen;
  for (const char c : {'}', ']'}) classes[static_cast<unsigned char>(c)] = Byte::kClose;
  classes['"'] = Byte::kQuote;
  classes[','] = Byte::kComma;
  return classes;
}

constexpr std::array<Byte, 256> kClasses = MakeClasses();

Byte ClassOf(char c) { return kClasses[static_cast<unsigned char>(c)]; }

constexpr size_t kBlockBytes = 64;
static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");

constexpr uint64_t InEachByte(uint8_t byte) { return 0x0101010101010101ULL * byte; }

// A bit for each byte of `word` that is `byte`.
uint64_t BytesEqualTo(uint64_t word, uint8_t byte) {
  constexpr uint64_t kLowBits = InEachByte(0x7f);
  const uint64_t differing = word ^ InEachByte(byte);
  const uint64_t zeros = ~(((differing & kLowBits) + kLowBits) | differing | kLowBits);
  return ((zeros >> 7) * 0x0102040810204080ULL) >> 56;
}

// Where the bytes that matter to the scanner are in a block; a bit for each byte, the first one lowest.
struct BlockMasks {
  uint64_t quotes = 0;
  uint64_t escapes = 0;
  uint64_t opens = 0;
  uint64_t closes = 0;
};

BlockMasks MasksOf(const char* block) {
  BlockMasks masks;
  for (size_t i = 0; i < kBlockBytes; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, block + i, sizeof(word));
    masks.quotes |= BytesEqualTo(word, '"') << i;
    masks.escapes |= BytesEqualTo(word, '\\') << i;
    word |= InEachByte('{' ^ '[');  // the bit that tells braces from brackets
    masks.opens |= BytesEqualTo(word, '{') << i;
    masks.closes |= BytesEqualTo(word, '}') << i;
  }
  return masks;
}

// Each bit becomes the parity of itself and those below it.
uint64_t PrefixParity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Looks for the end of a value, over as many calls as the value takes buffers.
class ValueScanner {
 public:
  // Scans on from `at`; true when the value ends before the byte where `at` is then.
  bool Scan(const char* text, size_t end, size_t& at) {
    while (at < end) {
      if (depth_ > 0 && !escaped_ && end - at >= kBlockBytes) {
        const BlockMasks masks = MasksOf(text + at);
        if (masks.escapes == 0) {
          if (TakeBlock(masks, at)) return true;
          continue;
        }
      }
      // Escapes are rare, and so are values without brackets: those go byte by byte.
      if (ScanBytes(text, depth_ > 0 ? std::min(end, at + kBlockBytes) : at + 1, at)) return true;
    }
    return false;
  }

  // Whether the end of the text may end the value: numbers and words have no other end.
  bool scalar() const { return in_scalar_ && depth_ == 0; }

 private:
  bool TakeBlock(const BlockMasks& masks, size_t& at) {
    const uint64_t within = PrefixParity(masks.quotes) ^ (in_string_ ? ~uint64_t{0} : 0);
    const uint64_t opens = masks.opens & ~within;
    const uint64_t closes = masks.closes & ~within;
    if (static_cast<uint64_t>(std::popcount(closes)) >= depth_) {
      uint64_t depth = depth_;
      for (uint64_t left = opens | closes; left != 0; left &= left - 1) {
        depth += (opens & left & -left) != 0 ? 1 : -1;
        if (depth > 0) continue;
        at += static_cast<size_t>(std::countr_zero(left)) + 1;
        return true;
      }
    }
    depth_ += static_cast<uint64_t>(std::popcount(opens)) - static_cast<uint64_t>(std::popcount(closes));
    in_string_ = (within >> (kBlockBytes - 1)) != 0;
    at += kBlockBytes;
    return false;
  }

  bool ScanBytes(const char* text, size_t end, size_t& at) {
    while (at < end) {
      if (in_string_) {
        ScanString(text, end, at);
        if (!in_string_ && depth_ == 0) return true;
        continue;
      }
      const Byte next = ClassOf(text[at]);
      if (next == Byte::kOther) {
        in_scalar_ = true;
        ++at;
        continue;
      }
      if (depth_ == 0 && in_scalar_) return true;
      if (next == Byte::kClose) {
        if (depth_ == 0) return true;
        ++at;
        if (--depth_ == 0) return true;
        continue;
      }
      if (next == Byte::kComma && depth_ == 0) return true;
      in_string_ = next == Byte::kQuote;
      if (next == Byte::kOpen) ++depth_;
      ++at;
    }
    return false;
  }

  void ScanString(const char* text, size_t end, size_t& at) {
    while (at < end) {
      const char c = text[at++];
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        return;
      }
    }
  }

  uint64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool in_scalar_ = false;
};

}  // namespace

JsonStream::JsonStream(ByteSource& source, size_t most_value_bytes)
    : source_(source), most_value_bytes_(most_value_bytes), buffer_(kFirstBufferBytes + kJsonPadding) {}

absl::Status JsonStream::Error(absl::string_view expected, absl::string_view found) const {
  return absl::DataLossError(absl::StrCat("byte ", offset(), ": expected ", expected, ", found ", found));
}

// Drops what lies before at_ and reads on behind end_.
absl::StatusOr<bool> JsonStream::Fill() {
  if (at_ > 0) {
    memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    consumed_ += at_;
    end_ -= at_;
    value_ -= std::min(value_, at_);
    at_ = 0;
  }
  const size_t room = buffer_.size() - kJsonPadding - end_;
  if (room == 0) {
    if (end_ >= most_value_bytes_) {
      return Error(absl::StrCat("a value of at most ", most_value_bytes_, " bytes"), "a longer one");
    }
    buffer_.resize(2 * end_ + kJsonPadding);
    return Fill();
  }
  ASSIGN_OR_RETURN(const size_t count, source_.Read(buffer_.data() + end_, room));
  end_ += count;
  return count > 0;
}

absl::StatusOr<char> JsonStream::Peek() {
  while (true) {
    while (at_ < end_ && ClassOf(buffer_[at_]) == Byte::kSpace) ++at_;
    if (at_ < end_) return buffer_[at_];
    const bool at_beginning = consumed_ == 0 && at_ == 0;
    ASSIGN_OR_RETURN(bool more, Fill());
    if (!more) return '\0';
    if (!at_beginning) continue;
    while (more && end_ < kByteOrderMark.size()) {
      ASSIGN_OR_RETURN(more, Fill());
    }
    if (absl::StartsWith(absl::string_view(buffer_.data(), end_), kByteOrderMark)) at_ = kByteOrderMark.size();
  }
}

absl::Status JsonStream::Expect(char wanted) {
  ASSIGN_OR_RETURN(const char next, Peek());
  if (next != wanted || AtEnd()) {
    const std::string found =
        AtEnd() ? "the end of the data" : absl::StrCat("'", absl::CHexEscape(absl::string_view(&next, 1)), "'");
    return Error(absl::StrCat("'", absl::string_view(&wanted, 1), "'"), found);
  }
  Skip();
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> JsonStream::Value() {
  const absl::Status peeked = Peek().status();
  value_ = at_;
  RETURN_IF_ERROR(peeked);
  ValueScanner scanner;
  size_t length = 0;
  while (true) {
    size_t reached = at_ + length;
    const bool ended = scanner.Scan(buffer_.data(), end_, reached);
    length = reached - at_;
    if (ended) break;
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (scanner.scalar()) break;
    return Error("the rest of a value", "the end of the data");
  }
  if (length == 0) return Error("a value", "none");
  const absl::string_view value(buffer_.data() + at_, length);
  at_ += length;
  return value;
}

bool JsonStream::BackToLine(char wanted) {
  const size_t end = at_ > value_ ? at_ : end_;  // of what is no whole value, all that was read
  for (size_t at = value_ + 1; at < end; ++at) {
    if (buffer_[at - 1] != '\n' || buffer_[at] != wanted) continue;
    at_ = at;
    return true;
  }
  return false;
}

}  // namespace lockstep
