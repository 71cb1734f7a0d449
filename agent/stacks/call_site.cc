#include "agent/stacks/call_site.h"

#include <cstddef>
#include <cstring>

namespace lockstep {
namespace {

constexpr size_t kLongestCall = 7;
constexpr size_t kRelativeCall = 5;
constexpr uint8_t kCallRelative = 0xE8;
constexpr uint8_t kGroup5 = 0xFF;  // with 2 in the middle of the byte behind it: call what a register or memory holds
constexpr uint8_t kCallOfGroup = 2;

// Bytes of an instruction of this group by the byte that says where its operand is (Intel's manual, volume 2, 2.1.3).
size_t LengthOf(uint8_t mod_rm, uint8_t sib) {
  const unsigned mod = mod_rm >> 6, rm = mod_rm & 7;
  if (mod == 3) return 2;
  const bool has_sib = rm == 4;
  const bool wide = mod == 2 || (mod == 0 && (rm == 5 || (has_sib && (sib & 7) == 5)));
  return 2 + (has_sib ? 1 : 0) + (wide ? 4 : mod);
}

}  // namespace

absl::optional<CallSite> CallBefore(RemoteMemory& memory, uint64_t address) {
  uint8_t bytes[kLongestCall] = {};
  if (address < kLongestCall || !memory.Read(address - kLongestCall, bytes, sizeof bytes)) return absl::nullopt;
  const uint8_t* const end = bytes + kLongestCall;
  if (*(end - kRelativeCall) == kCallRelative) {
    int32_t distance = 0;
    std::memcpy(&distance, end - sizeof distance, sizeof distance);
    return CallSite{.target = address + static_cast<uint64_t>(int64_t{distance})};
  }
  for (size_t length = 2; length <= kLongestCall; ++length) {
    const uint8_t* const at = end - length;
    const uint8_t sib = length > 2 ? at[2] : 0;
    if (at[0] == kGroup5 && (at[1] >> 3 & 7) == kCallOfGroup && LengthOf(at[1], sib) == length) return CallSite{};
  }
  return absl::nullopt;
}

}  // namespace lockstep
