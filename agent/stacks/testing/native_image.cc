#include "agent/stacks/testing/native_image.h"

#include <elf.h>

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

constexpr uint64_t kFrames = 0x1500;  // .eh_frame

// Appends entries of .eh_frame to memory.
class FrameWriter {
 public:
  explicit FrameWriter(ImageMemory& memory) : memory_(memory) {}

  // Units of -8 bytes, the return address in register 16, addresses from themselves; at the entry of a function the
  // CFA is rsp + 8 and the return address lies at CFA - 8.
  void Common() {
    common_ = at_;
    Entry(0, std::string("\x01zR\0\x01\x78\x10\x01\x1B\x0C\x07\x08\x90\x01\0\0", 16));
  }

  // Returns where the entry is.
  uint64_t Function(uint64_t begin, uint32_t length, const std::string& instructions) {
    const uint64_t entry = at_;
    std::string bytes(9, '\0');  // where it begins, how long it is, nothing more
    const auto distance = static_cast<int32_t>(static_cast<int64_t>(begin) - static_cast<int64_t>(at_ + 8));
    std::memcpy(bytes.data(), &distance, sizeof distance);
    std::memcpy(bytes.data() + 4, &length, sizeof length);
    Entry(static_cast<uint32_t>(at_ + 4 - common_), bytes + instructions);
    return entry;
  }

 private:
  void Entry(uint32_t id, std::string bytes) {
    bytes.resize((bytes.size() + 3) / 4 * 4);  // an instruction of zero does nothing
    memory_.Put<uint32_t>(at_, static_cast<uint32_t>(bytes.size() + sizeof id));
    memory_.Put<uint32_t>(at_ + 4, id);
    memory_.Write(at_ + 8, bytes);
    at_ += 8 + bytes.size();
  }

  ImageMemory& memory_;
  uint64_t at_ = kFrames;
  uint64_t common_ = 0;
};

}  // namespace

NativeImage::NativeImage(bool with_frame_pointer) {
  PutElfHeaders(memory, kBase, {{PT_LOAD, 0}, {PT_GNU_EH_FRAME, kIndex - kBase}});
  memory.Write(kReturn - 5, absl::string_view("\xE8", 1));
  memory.Put<int32_t>(kReturn - 4, static_cast<int32_t>(kInner) - static_cast<int32_t>(kReturn));

  FrameWriter frames(memory);
  frames.Common();
  // After 4 bytes: CFA = rsp + 24, rbx at CFA - 16; after 12: CFA = rsp + 8, rbx as it was.
  const std::string room("\x44\x0E\x18\x83\x02\x48\x0E\x08\xC3", 9);
  // After 4 bytes: CFA = rbp + 16, rbp at CFA - 16.
  const std::string pointer("\x44\x0C\x06\x10\x86\x02", 6);
  const uint64_t inner = frames.Function(kInner, 32, with_frame_pointer ? pointer : room);
  const uint64_t outer = frames.Function(kOuter, 32, std::string("\x07\x10", 2));  // nobody called it

  memory.Write(kIndex, absl::string_view("\x01\x1B\x03\x3B", 4));
  memory.Put<int32_t>(kIndex + 4, static_cast<int32_t>(kFrames - (kIndex + 4)));
  memory.Put<uint32_t>(kIndex + 8, 2);
  uint64_t row = kIndex + 12;
  for (const auto& [begin, entry] : {std::pair(kInner, inner), std::pair(kOuter, outer)}) {
    memory.Put<int32_t>(row, static_cast<int32_t>(begin) - static_cast<int32_t>(kIndex));
    memory.Put<int32_t>(row + 4, static_cast<int32_t>(entry) - static_cast<int32_t>(kIndex));
    row += 8;
  }
  const uint64_t returns = kStack + (with_frame_pointer ? 32 : 16);
  memory.Put<uint64_t>(returns, kReturn);
  if (with_frame_pointer) memory.Put<uint64_t>(returns - 8, kStack + 64);
}

}  // namespace lockstep
