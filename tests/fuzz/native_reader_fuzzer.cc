// The memory of a process of a job, as the reader of functions of C follows it: headers of files, tables of frames, the
// stack. What is told has bounds, can be printed and folded, and costs a bounded number of reads.
//
// Input: where a thread waits and its stack pointer (2 bytes each), then the memory from kBase on, all of it code of
// one file.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/stacks/native_reader.h"
#include "agent/stacks/remote_memory.h"
#include "base/check.h"

namespace lockstep {
namespace {

constexpr uint64_t kBase = 0x1000;
// Each step looks at one function: its entry, one of what it has in common with others, and the index.
constexpr size_t kMostReads = 64 * NativeReader::kMaxSteps;

class InputMemory final : public RemoteMemory {
 public:
  explicit InputMemory(absl::string_view bytes) : bytes_(bytes) {}

  // The last page ends with zeros.
  bool Read(uint64_t address, void* to, size_t bytes) override {
    CHECK(++reads_ <= kMostReads);
    if (address < kBase || address - kBase >= bytes_.size()) return false;
    std::memset(to, 0, bytes);
    const absl::string_view there = bytes_.substr(address - kBase, bytes);
    std::memcpy(to, there.data(), there.size());
    return true;
  }

 private:
  const absl::string_view bytes_;
  size_t reads_ = 0;
};

void Run(uint64_t pc, uint64_t stack_pointer, absl::string_view bytes) {
  InputMemory memory(bytes);
  const uint64_t end = kBase + (bytes.size() + kBase - 1) / kBase * kBase;
  NativeReader reader(memory, absl::StrCat("1000-", absl::Hex(end), " r-xp 00000000 08:01 7 /usr/bin/train\n"));
  const NativeStack stack = reader.Read(pc, stack_pointer);
  CHECK(stack.frames.size() <= NativeReader::kMaxDepth);
  CHECK(stack.frames.size() == stack.places.size());
  CHECK(!stack.frames.empty() || stack.cut);
  for (const std::string& frame : stack.frames) {
    CHECK(!frame.empty() && frame.size() <= FunctionNames::kMaxNameBytes + 80);
    for (const char c : frame) CHECK(c >= ' ' && c <= '~' && c != ';');
  }
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  lockstep::Run(data[0] | uint64_t{data[1]} << 8, data[2] | uint64_t{data[3]} << 8,
                absl::string_view(reinterpret_cast<const char*>(data) + 4, size - 4));
  return 0;
}
