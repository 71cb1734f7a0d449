#include "agent/stacks/testing/endless_memory.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

constexpr uint64_t kBase = 0x1'0000'0000;
constexpr uint64_t kIndex = kBase + 0x1000;     // .eh_frame_hdr
constexpr uint64_t kCommon = kBase + 0x2000;    // .eh_frame
constexpr uint64_t kFunction = kBase + 0x4000;  // one for all of the code
constexpr uint32_t kEntryBytes = 4'092;
constexpr uint64_t kStep = 8;  // each address that is a multiple of it stands behind a call

// A call of 5 bytes in front of each such address, of one that looks like chance.
char ByteOfCode(uint64_t address) {
  const uint64_t behind = address / kStep * kStep + kStep;
  const uint64_t at = address % kStep;
  if (at < 3) return '\x90';
  if (at == 3) return '\xE8';
  const uint64_t target = EndlessMemory::kCode + behind * 2'654'435'761 / 128 % EndlessMemory::kCodeBytes;
  const auto distance = static_cast<uint32_t>(target - behind);
  return static_cast<char>(distance >> (8 * (at - 4)));
}

uint64_t WordOfStack(uint64_t number) {
  return EndlessMemory::kCode + number * 7'919 % (EndlessMemory::kCodeBytes / kStep - 2) * kStep + kStep;
}

}  // namespace

EndlessMemory::EndlessMemory() {
  PutElfHeaders(file_, kBase, {{PT_LOAD, 0}, {PT_GNU_EH_FRAME, kIndex - kBase}});
  file_.Write(kIndex, absl::string_view("\x01\x1B\x03\x3B\0\0\0\0\x01\0\0\0", 12));  // one function
  file_.Put<int32_t>(kIndex + 12, static_cast<int32_t>(kCode - kIndex));
  file_.Put<int32_t>(kIndex + 16, static_cast<int32_t>(kFunction - kIndex));
  // Instructions of zero do nothing.
  file_.Write(kCommon, std::string(kEntryBytes + 4, '\0'));
  file_.Put<uint32_t>(kCommon, kEntryBytes);
  file_.Write(kCommon + 8, absl::string_view("\x01zR\0\x01\x78\x10\x01\x1B", 9));
  file_.Write(kFunction, std::string(kEntryBytes + 4, '\0'));
  file_.Put<uint32_t>(kFunction, kEntryBytes);
  file_.Put<uint32_t>(kFunction + 4, static_cast<uint32_t>(kFunction + 4 - kCommon));
  file_.Put<int32_t>(kFunction + 8, static_cast<int32_t>(kCode - (kFunction + 8)));
  file_.Put<uint32_t>(kFunction + 12, static_cast<uint32_t>(kCodeBytes));
}

bool EndlessMemory::Read(uint64_t address, void* to, size_t bytes) {
  ++reads;
  char* const out = static_cast<char*>(to);
  if (address >= kCode && address + bytes <= kCode + kCodeBytes) {
    for (size_t i = 0; i < bytes; ++i) out[i] = ByteOfCode(address + i);
    return true;
  }
  if (address >= kStack && address + bytes <= kStack + kStackBytes) {
    for (size_t i = 0; i < bytes;) {
      const uint64_t word = WordOfStack((address + i) / kStep);
      const size_t from = (address + i) % kStep, count = std::min(bytes - i, kStep - from);
      std::memcpy(out + i, reinterpret_cast<const char*>(&word) + from, count);
      i += count;
    }
    return true;
  }
  return file_.Read(address, to, bytes);
}

std::string EndlessMemory::Maps() {
  return absl::StrCat(absl::Hex(kBase), "-", absl::Hex(kCode), " r--p 00000000 08:01 1 /usr/lib/lib.so\n",
                      absl::Hex(kCode), "-", absl::Hex(kCode + kCodeBytes), " r-xp 01000000 08:01 1 /usr/lib/lib.so\n",
                      absl::Hex(kStack), "-", absl::Hex(kStack + kStackBytes), " rw-p 00000000 00:00 0 [stack]\n");
}

}  // namespace lockstep
