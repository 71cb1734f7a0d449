// Memory of a process that a test writes by hand, and the headers of a file in it.

#ifndef LOCKSTEP_AGENT_STACKS_TESTING_IMAGE_MEMORY_H_
#define LOCKSTEP_AGENT_STACKS_TESTING_IMAGE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/stacks/remote_memory.h"

namespace lockstep {

// Not thread-safe. Bytes by address; what nobody has written cannot be read, but for the rest of its page.
class ImageMemory final : public RemoteMemory {
 public:
  bool Read(uint64_t address, void* to, size_t bytes) override;
  void Write(uint64_t address, absl::string_view bytes);
  template <typename T>
  void Put(uint64_t address, T value) {
    Write(address, absl::string_view(reinterpret_cast<const char*>(&value), sizeof value));
  }
  // All from `begin` to the end of the last page; zeros between pages.
  std::string Flat(uint64_t begin) const;

  size_t reads = 0;
  std::function<void(uint64_t address)> before_read;

 private:
  static constexpr uint64_t kPage = 4096;
  std::map<uint64_t, std::string> pages_;
};

// The part of a file that a program header tells of: `type` (PT_...), and its distance from the file's beginning.
struct ElfPart {
  uint32_t type = 0;
  uint64_t address = 0;
};

// The headers of a 64-bit ELF file at `base`. At most 6 parts fit into its first 400 bytes.
void PutElfHeaders(ImageMemory& memory, uint64_t base, const std::vector<ElfPart>& parts);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_TESTING_IMAGE_MEMORY_H_
