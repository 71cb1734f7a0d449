#include "collector/store/byte_codec.h"

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr int kMaxVarintBytes = 10;

template <typename T>
void AppendFixed(std::string& out, T value) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((value >> shift) & 0xff));
  }
}

}  // namespace

void AppendU8(std::string& out, uint8_t value) { out.push_back(static_cast<char>(value)); }
void AppendU16(std::string& out, uint16_t value) { AppendFixed(out, value); }
void AppendU32(std::string& out, uint32_t value) { AppendFixed(out, value); }
void AppendU64(std::string& out, uint64_t value) { AppendFixed(out, value); }
void AppendOrderedI64(std::string& out, int64_t value) { AppendU64(out, static_cast<uint64_t>(value) ^ kSignBit); }

void AppendDouble(std::string& out, double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  AppendU64(out, bits);
}

void AppendZigzag(std::string& out, int64_t value) {
  uint64_t bits = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  while (bits >= 0x80) {
    out.push_back(static_cast<char>(0x80 | (bits & 0x7f)));
    bits >>= 7;
  }
  out.push_back(static_cast<char>(bits));
}

void AppendShortText(std::string& out, absl::string_view text) {
  text = text.substr(0, 0xffff);
  AppendU16(out, static_cast<uint16_t>(text.size()));
  out.append(text.data(), text.size());
}

template <typename T>
bool ByteReader::ReadFixed(T& value) {
  if (rest_.size() < sizeof(T)) return false;
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) bits = bits << 8 | static_cast<uint8_t>(rest_[i]);
  value = static_cast<T>(bits);
  rest_.remove_prefix(sizeof(T));
  return true;
}

bool ByteReader::ReadU8(uint8_t& value) { return ReadFixed(value); }
bool ByteReader::ReadU16(uint16_t& value) { return ReadFixed(value); }
bool ByteReader::ReadU32(uint32_t& value) { return ReadFixed(value); }
bool ByteReader::ReadU64(uint64_t& value) { return ReadFixed(value); }

bool ByteReader::ReadOrderedI64(int64_t& value) {
  uint64_t bits = 0;
  if (!ReadFixed(bits)) return false;
  value = static_cast<int64_t>(bits ^ kSignBit);
  return true;
}

bool ByteReader::ReadDouble(double& value) {
  uint64_t bits = 0;
  if (!ReadFixed(bits)) return false;
  std::memcpy(&value, &bits, sizeof(value));
  return true;
}

bool ByteReader::ReadZigzag(int64_t& value) {
  uint64_t bits = 0;
  const size_t longest = std::min<size_t>(rest_.size(), kMaxVarintBytes);
  for (size_t i = 0; i < longest; ++i) {
    const uint8_t byte = static_cast<uint8_t>(rest_[i]);
    bits |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    value = static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
    rest_.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool ByteReader::ReadShortText(std::string& text) {
  ByteReader ahead = *this;
  uint16_t size = 0;
  if (!ahead.ReadU16(size) || ahead.rest_.size() < size) return false;
  text.assign(ahead.rest_.data(), size);
  rest_ = ahead.rest_.substr(size);
  return true;
}

}  // namespace lockstep
