// Which GPU a followed process may use: RingDirectory::FindGpus.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/gpu_names.h"
#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/allowed_gpus.h"
#include "agent/sources/rings/ring_directory.h"

namespace lockstep {

void RingDirectory::FindGpus(const GpuNames& names) {
  // Who is on a machine without GPUs is on none.
  if (names.empty()) return;
  size_t looks = 0;
  for (auto& [name, ring] : rings_) {
    const ring::RingHeader& header = ring.reader->header();
    if (header.gpu_uuid[0] != 0 || header.gpu_pci_address[0] != 0) continue;
    if (!ring.is_gpu_sought && ring.host_pid != 0 && ring.process.has_value() && looks < kMaxGpuLooks) {
      ++looks;
      ring.is_gpu_sought = true;
      const std::vector<int32_t> gpus = AllowedGpus(finder_.root(), ring.host_pid, ring.process->start_ticks);
      if (gpus.size() == 1) ring.gpu_minor = gpus.front();
    }
    // The driver may list its GPUs otherwise by now.
    ring.gpu_uuid = names.UuidOfMinor(ring.gpu_minor);
  }
}

}  // namespace lockstep
