// Memory of a process as an interpreter of Python would have it, made by hand: for tests of the reader, and seeds of
// its fuzzer. Not thread-safe.

#ifndef LOCKSTEP_AGENT_STACKS_TESTING_PYTHON_IMAGE_H_
#define LOCKSTEP_AGENT_STACKS_TESTING_PYTHON_IMAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/stacks/python_layout.h"
#include "agent/stacks/testing/image_memory.h"

namespace lockstep {

// A 64-bit ELF file at `base` that exports `symbol` at `address`; takes less than 1 KiB. `base` is a multiple of pages.
void PutElfFile(ImageMemory& memory, uint64_t base, absl::string_view symbol, uint64_t address);

// Where the parts of an image lie; each structure takes `step` bytes.
struct PythonPlaces {
  uint64_t runtime = 0x10000;
  uint64_t interpreter = 0x20000;
  uint64_t first = 0x100000;
  uint64_t step = 0x1000;
};

// An interpreter of one version, built by its layout.
class PythonImage {
 public:
  explicit PythonImage(int minor, const PythonPlaces& places = {});

  // Addresses of what was made.
  uint64_t Text(absl::string_view text);
  uint64_t WideText(const std::u16string& text);
  uint64_t Code(uint64_t name, absl::string_view file, int32_t line);
  uint64_t Frame(uint64_t previous, uint64_t code, uint8_t owner = 0);
  // A thread in front of the others.
  uint64_t Thread(int32_t tid, uint64_t top_frame);
  void SetTop(uint64_t thread, uint64_t frame);

  const PythonLayout& layout() const { return layout_; }
  const PythonPlaces& places() const { return places_; }

  ImageMemory memory;

 private:
  uint64_t Take();
  void PutDebugOffsets();

  PythonPlaces places_;
  PythonLayout layout_;
  uint64_t next_ = 0;
  uint64_t first_thread_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_TESTING_PYTHON_IMAGE_H_
