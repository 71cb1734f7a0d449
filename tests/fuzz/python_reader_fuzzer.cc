// The memory of a process of a job, as the reader of Python's stacks follows it. A process may have written anything
// there: what is told has bounds, can be printed and folded, and costs a bounded number of reads.
//
// Input: a version (1 byte), then the memory from kBase on. It is read twice: as that of an interpreter whose runtime
// is at kBase, and as that of a process that has mapped its program there.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/stacks/python_layout.h"
#include "agent/stacks/python_reader.h"
#include "agent/stacks/remote_memory.h"
#include "base/check.h"

namespace lockstep {
namespace {

constexpr uint64_t kBase = 4096;

class InputMemory final : public RemoteMemory {
 public:
  explicit InputMemory(absl::string_view bytes) : bytes_(bytes) {}

  bool Read(uint64_t address, void* to, size_t bytes) override {
    ++reads;
    if (address < kBase || address - kBase > bytes_.size() || bytes > bytes_.size() - (address - kBase)) return false;
    std::memcpy(to, bytes_.data() + (address - kBase), bytes);
    return true;
  }

  size_t reads = 0;

 private:
  const absl::string_view bytes_;
};

void CheckSample(PythonReader& reader, const InputMemory& memory) {
  const size_t before = memory.reads;
  const PythonSample sample = reader.Sample();
  CHECK(memory.reads - before <= PythonReader::kMaxReads);
  CHECK(sample.stacks.size() <= PythonReader::kMaxThreads);
  for (const PythonStack& stack : sample.stacks) {
    CHECK(!stack.frames.empty() && stack.frames.size() <= PythonReader::kMaxDepth);
    for (const std::string& frame : stack.frames) {
      CHECK(!frame.empty() && frame.size() <= 2 * PythonReader::kMaxTextBytes + 20);
      for (const char c : frame) CHECK(c >= ' ' && c <= '~' && c != ';');
    }
  }
}

void Run(int minor, absl::string_view bytes) {
  InputMemory memory(bytes);
  const absl::StatusOr<PythonLayout> layout = FindPythonLayout(memory, minor, kBase);
  CHECK(layout.ok() || minor == 13);
  if (layout.ok()) {
    PythonReader reader(memory, *layout, kBase);
    CheckSample(reader, memory);
  }
  absl::StatusOr<PythonReader> found =
      PythonReader::Find(memory, absl::StrCat("1000-f000 r--p 00000000 08:01 7 /usr/bin/python3.", minor, "\n"));
  CHECK(found.ok() || !found.status().message().empty());
  if (found.ok()) CheckSample(*found, memory);
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr int kVersions = lockstep::kNewestPython - lockstep::kOldestPython + 1;
  lockstep::Run(lockstep::kOldestPython + data[0] % kVersions,
                absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
