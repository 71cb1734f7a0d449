#include "agent/gpu_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {

void GpuNames::Set(std::vector<GpuName> gpus) {
  MutexLock lock(mutex_);
  gpus_ = std::move(gpus);
}

const GpuName* GpuNames::GpuOf(const wire::ProcessReport& process) const {
  const GpuName* by_pid = nullptr;
  int gpus_of_pid = 0;
  for (const GpuName& gpu : gpus_) {
    const bool same_uuid = !gpu.uuid.empty() && gpu.uuid == process.gpu_uuid();
    const bool same_address = !gpu.pci_address.empty() && gpu.pci_address == process.gpu_pci_address();
    if (same_uuid || same_address) return &gpu;
    if (std::find(gpu.pids.begin(), gpu.pids.end(), process.pid()) == gpu.pids.end()) continue;
    by_pid = &gpu;
    ++gpus_of_pid;
  }
  const bool is_told = !process.gpu_uuid().empty() || !process.gpu_pci_address().empty();
  return gpus_of_pid == 1 && !is_told ? by_pid : nullptr;
}

void GpuNames::Apply(wire::AgentReport& report) const {
  MutexLock lock(mutex_);
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    const GpuName* const gpu = GpuOf(process);
    if (gpu == nullptr) continue;
    process.set_gpu_index(gpu->index);
    if (!gpu->uuid.empty()) process.set_gpu_uuid(gpu->uuid);
    if (!gpu->pci_address.empty()) process.set_gpu_pci_address(gpu->pci_address);
  }
  for (wire::KernelEvent& event : *report.mutable_kernel_events()) {
    const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&event](const GpuName& known) {
      return !known.pci_address.empty() && known.pci_address == event.device();
    });
    if (gpu == gpus_.end()) continue;
    event.set_pci_address(event.device());
    event.set_device(absl::StrCat("gpu", gpu->index));
  }
}

}  // namespace lockstep
