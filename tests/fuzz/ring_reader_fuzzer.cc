// Arbitrary bytes as a ring file, read twice, the second time after half of them were cut off.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "agent/sources/rings/ring_reader.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/unique_fd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::UniqueFd file(memfd_create("ring", MFD_CLOEXEC));
  if (!file.valid() || write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const int fd = file.get();
  lockstep::RingRefusal refusal;
  const auto reader = lockstep::RingReader::Open(std::move(file), /*since_ns=*/0, &refusal);
  if (reader == nullptr) return 0;
  lockstep::RingSnapshot snapshot;
  for (int look = 0; look < 2; ++look) {
    if (!reader->Poll(&snapshot).ok()) return 0;
    if (ftruncate(fd, static_cast<off_t>(size / 2)) != 0) return 0;
  }
  return 0;
}
