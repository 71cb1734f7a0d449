#include "agent/gpu_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// Of UUIDs of MIG instances.
constexpr char kInstancePrefix[] = "MIG-";

bool Lists(const std::vector<int32_t>& pids, int32_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

bool HasInstance(const GpuName& gpu, const std::string& uuid) {
  return !uuid.empty() && std::any_of(gpu.instances.begin(), gpu.instances.end(),
                                      [&uuid](const GpuInstanceName& instance) { return instance.uuid == uuid; });
}

// Of the only instance that lists the pid, or else of the GPU.
std::string UuidOfPid(const GpuName& gpu, int32_t pid) {
  const GpuInstanceName* only = nullptr;
  for (const GpuInstanceName& instance : gpu.instances) {
    if (!Lists(instance.pids, pid)) continue;
    if (only != nullptr) return gpu.uuid;
    only = &instance;
  }
  return only == nullptr || only->uuid.empty() ? gpu.uuid : only->uuid;
}

bool HasSameNames(const GpuName& a, const GpuName& b) {
  return a.index == b.index && a.uuid == b.uuid && a.pci_address == b.pci_address;
}

}  // namespace

void GpuNames::Set(std::vector<GpuName> gpus) {
  MutexLock lock(mutex_);
  gpus_ = std::move(gpus);
}

bool GpuNames::empty() const {
  MutexLock lock(mutex_);
  return gpus_.empty();
}

std::string GpuNames::DeviceOf(absl::string_view uuid) const {
  MutexLock lock(mutex_);
  const GpuName* const gpu = Find(uuid);
  return gpu == nullptr ? "" : absl::StrCat("gpu", gpu->index);
}

std::string GpuNames::DeviceOf(absl::string_view uuid, int32_t gpu_instance) const {
  MutexLock lock(mutex_);
  const GpuName* const gpu = Find(uuid);
  if (gpu == nullptr || gpu_instance < 0) return "";
  const auto is_in_it = [gpu_instance](const GpuInstanceName& known) { return known.gpu_instance == gpu_instance; };
  if (std::count_if(gpu->instances.begin(), gpu->instances.end(), is_in_it) != 1) return "";
  const auto only = std::find_if(gpu->instances.begin(), gpu->instances.end(), is_in_it);
  return absl::StrCat("gpu", gpu->index, "/mig", only->index);
}

const GpuName* GpuNames::Find(absl::string_view uuid) const {
  for (const GpuName& gpu : gpus_) {
    if (!uuid.empty() && gpu.uuid == uuid) return &gpu;
  }
  return nullptr;
}

std::string GpuNames::UuidOfMinor(int32_t minor) const {
  MutexLock lock(mutex_);
  for (const GpuName& gpu : gpus_) {
    if (minor >= 0 && gpu.minor == minor) return gpu.instances.empty() ? gpu.uuid : "";
  }
  return "";
}

GpuNames::Place GpuNames::PlaceOf(const wire::ProcessReport& process) const {
  Place by_pid;
  int gpus_of_pid = 0;
  for (const GpuName& gpu : gpus_) {
    const bool same_uuid = !gpu.uuid.empty() && gpu.uuid == process.gpu_uuid();
    const bool same_address = !gpu.pci_address.empty() && gpu.pci_address == process.gpu_pci_address();
    const bool is_instance = absl::StartsWith(process.gpu_uuid(), kInstancePrefix);
    if (HasInstance(gpu, process.gpu_uuid()) || (same_address && is_instance)) return {&gpu, process.gpu_uuid()};
    if (same_uuid || same_address) return {&gpu, gpu.uuid};
    if (!Lists(gpu.pids, process.pid())) continue;
    by_pid = {&gpu, UuidOfPid(gpu, process.pid())};
    ++gpus_of_pid;
  }
  const bool is_told = !process.gpu_uuid().empty() || !process.gpu_pci_address().empty();
  return gpus_of_pid == 1 && !is_told ? by_pid : Place{};
}

void GpuNames::List(wire::AgentReport& report) {
  ++reports_since_list_;
  const bool is_known = std::equal(gpus_.begin(), gpus_.end(), listed_.begin(), listed_.end(), HasSameNames);
  if (is_known && reports_since_list_ < kListEveryReports) return;
  reports_since_list_ = 0;
  listed_ = gpus_;
  for (const GpuName& gpu : gpus_) {
    wire::GpuIdentity& identity = *report.add_gpus();
    identity.set_index(gpu.index);
    identity.set_uuid(gpu.uuid);
    identity.set_pci_address(gpu.pci_address);
  }
}

void GpuNames::Apply(wire::AgentReport& report) {
  MutexLock lock(mutex_);
  List(report);
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    const Place place = PlaceOf(process);
    if (place.gpu == nullptr) continue;
    process.set_gpu_index(place.gpu->index);
    if (!place.uuid.empty()) process.set_gpu_uuid(place.uuid);
    if (!place.gpu->pci_address.empty()) process.set_gpu_pci_address(place.gpu->pci_address);
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
