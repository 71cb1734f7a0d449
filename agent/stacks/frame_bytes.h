// Reads the numbers of call frame information out of bytes that anybody may have written.

#ifndef LOCKSTEP_AGENT_STACKS_FRAME_BYTES_H_
#define LOCKSTEP_AGENT_STACKS_FRAME_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace lockstep {

// How a pointer is written, as DW_EH_PE_ of the Linux Standard Base (10.5) has it.
inline constexpr uint8_t kPointerAbsolute = 0x00;
inline constexpr uint8_t kPointerOmitted = 0xFF;
inline constexpr uint8_t kPointerFormat = 0x0F;    // of these bits: which number
inline constexpr uint8_t kPointerRelation = 0x70;  // of these bits: what it is added to
inline constexpr uint8_t kRelativeToItself = 0x10;

// A place in bytes that stand at `address` of a process. Behind their end everything is 0 and ok() is false. Plain
// value; thread-compatible.
class FrameBytes {
 public:
  FrameBytes(absl::string_view bytes, uint64_t address) : bytes_(bytes), address_(address) {}

  bool ok() const { return ok_; }
  bool empty() const { return !ok_ || at_ >= bytes_.size(); }
  uint64_t address() const { return address_ + at_; }

  template <typename T>
  T Take() {
    T value = 0;
    if (!ok_ || bytes_.size() - at_ < sizeof value) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void Skip(uint64_t bytes) {
    if (!ok_ || bytes > bytes_.size() - at_) {
      ok_ = false;
      return;
    }
    at_ += static_cast<size_t>(bytes);
  }

  uint64_t TakeUnsigned() {  // LEB128
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Take<uint8_t>();
      value |= uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }

  int64_t TakeSigned() {  // LEB128
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Take<uint8_t>();
      value |= uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
      return static_cast<int64_t>(value);
    }
    ok_ = false;
    return 0;
  }

  absl::string_view TakeText() {  // up to a zero
    const size_t end = ok_ ? bytes_.find('\0', at_) : absl::string_view::npos;
    if (end == absl::string_view::npos) {
      ok_ = false;
      return {};
    }
    const absl::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  // A pointer that is written as `encoding`; with `relative` false the number itself. ok() is false for an encoding
  // that compilers do not use here.
  uint64_t TakePointer(uint8_t encoding, bool relative = true) {
    const uint64_t here = address();
    uint64_t value = 0;
    switch (encoding & kPointerFormat) {
      case 0x00:
      case 0x04:
      case 0x0C:
        value = Take<uint64_t>();
        break;
      case 0x02:
        value = Take<uint16_t>();
        break;
      case 0x03:
        value = Take<uint32_t>();
        break;
      case 0x0A:
        value = static_cast<uint64_t>(int64_t{Take<int16_t>()});
        break;
      case 0x0B:
        value = static_cast<uint64_t>(int64_t{Take<int32_t>()});
        break;
      default:
        ok_ = false;
    }
    const uint8_t relation = encoding & kPointerRelation;
    if (relation != 0 && relation != kRelativeToItself) ok_ = false;
    return relative && relation == kRelativeToItself ? value + here : value;
  }

 private:
  absl::string_view bytes_;
  uint64_t address_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_FRAME_BYTES_H_
