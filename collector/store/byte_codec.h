// Bytes of keys and values: fixed-width big-endian integers, whose bytewise order is their numeric order, and varints
// for places where order does not matter.
//
// Pure. Writing never fails; reading returns false, and stays where it is, when the bytes end too early.

#ifndef LOCKSTEP_COLLECTOR_STORE_BYTE_CODEC_H_
#define LOCKSTEP_COLLECTOR_STORE_BYTE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

void AppendU8(std::string& out, uint8_t value);
void AppendU16(std::string& out, uint16_t value);
void AppendU32(std::string& out, uint32_t value);
void AppendU64(std::string& out, uint64_t value);

// Signed, with the sign bit flipped, so that negative numbers sort before positive ones.
void AppendOrderedI64(std::string& out, int64_t value);

// The eight bytes of the IEEE 754 number, big-endian; not in numeric order.
void AppendDouble(std::string& out, double value);

// LEB128 of the zigzag of `value`: small magnitudes take few bytes. At most 10 bytes.
void AppendZigzag(std::string& out, int64_t value);

// Two bytes of length, then the bytes; `text` is cut at 65,535 bytes.
void AppendShortText(std::string& out, absl::string_view text);

// Reads what the functions above wrote. Borrows the bytes. Thread-compatible.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : rest_(bytes) {}

  bool ReadU8(uint8_t& value);
  bool ReadU16(uint16_t& value);
  bool ReadU32(uint32_t& value);
  bool ReadU64(uint64_t& value);
  bool ReadOrderedI64(int64_t& value);
  bool ReadDouble(double& value);
  bool ReadZigzag(int64_t& value);
  bool ReadShortText(std::string& text);

  // What has not been read.
  absl::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  template <typename T>
  bool ReadFixed(T& value);

  absl::string_view rest_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_BYTE_CODEC_H_
