#include "agent/sources/nvml/nvml_source.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "agent/metric_block.h"
#include "agent/printable_text.h"
#include "agent/sources/kernel_log/kernel_line.h"
#include "agent/sources/nvml/gpu_processes.h"
#include "agent/sources/nvml/nvml_library.h"
#include "agent/sources/nvml/nvml_readers.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

bool IsUnsupported(int result) {
  return result == kNvmlNotSupported || result == kNvmlFunctionNotFound || result == kNvmlNoPermission ||
         result == kNvmlInvalidArgument || result == kNvmlNotFound;
}

}  // namespace

absl::Status NvmlSource::Collect(const Tick& tick, wire::AgentReport& report) {
  if (!ready_) {
    if (!opened_ns_.has_value() || tick.monotonic_ns - *opened_ns_ >= kRetryNs) {
      opened_ns_ = tick.monotonic_ns;
      open_status_ = Open();
    }
    RETURN_IF_ERROR(open_status_);
  }
  const bool slow = !slow_ns_.has_value() || tick.monotonic_ns - *slow_ns_ >= kSlowPeriodNs;
  if (slow) slow_ns_ = tick.monotonic_ns;
  absl::Status status;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const absl::Status wrong = CollectGpu(i, tick, slow, report);
    if (wrong.ok()) continue;
    status = status.ok() ? wrong : absl::UnavailableError(absl::StrCat(status.message(), "; ", wrong.message()));
  }
  if (slow) {
    std::vector<GpuName> names;
    for (size_t i = 0; i < gpus_.size(); ++i) names.push_back(LookInside(i, tick, report));
    names_->Set(std::move(names));
  }
  events_.Collect(tick, gpus_, report);
  turn_ = (turn_ + 1) % gpus_.size();
  return status;
}

std::vector<std::string> NvmlSource::parts() const {
  std::vector<std::string> parts;
  for (const GpuInfo& gpu : gpus_) {
    // An index is that of another GPU as soon as one before it is gone.
    if (gpu.handle != nullptr && !gpu.pci_address.empty()) parts.push_back(gpu.pci_address);
  }
  return parts;
}

absl::Status NvmlSource::Open() {
  if (!api_.has_value()) {
    ASSIGN_OR_RETURN(api_, LoadNvml(library_));
  }
  const int result = api_->init();
  if (result == kNvmlDriverNotLoaded) return NoData("the NVIDIA driver is not loaded");
  if (result != kNvmlSuccess) return absl::UnavailableError(absl::StrCat("NVML: ", api_->error_string(result)));
  ASSIGN_OR_RETURN(gpus_, ReadGpuInventory(*api_));
  if (gpus_.empty()) return NoData("no NVIDIA GPU");
  unsupported_.assign(gpus_.size(), std::vector<bool>(NvmlReaders().size()));
  lost_ns_.assign(gpus_.size(), absl::nullopt);
  slow_ns_.reset();
  turn_ = 0;
  instances_.assign(gpus_.size(), 0);
  events_.Listen(*api_, gpus_);
  ready_ = true;
  return absl::OkStatus();
}

absl::Status NvmlSource::CollectGpu(size_t index, const Tick& tick, bool slow, wire::AgentReport& report) {
  const GpuInfo& gpu = gpus_[index];
  if (gpu.handle == nullptr && gpu.open_result == kNvmlGpuIsLost) return Lost(index, tick, report);
  if (gpu.handle == nullptr) return Wrong(gpu, "cannot be opened", gpu.open_result);
  MetricBlockBuilder block(report, gpu.device, tick.monotonic_ns);
  absl::Status status;
  const absl::Span<const NvmlReader> readers = NvmlReaders();
  for (size_t i = 0; i < readers.size(); ++i) {
    const NvmlReader& reader = readers[i];
    if (unsupported_[index][i]) continue;
    if (reader.cadence == NvmlCadence::kSlow && !slow) continue;
    if (reader.cadence == NvmlCadence::kTurn && index != turn_) continue;
    const int result = reader.read(*api_, gpu.handle, block);
    if (result == kNvmlSuccess) continue;
    if (IsUnsupported(result)) {
      unsupported_[index][i] = true;
      continue;
    }
    // Nothing else can be known of a GPU that is gone.
    if (result == kNvmlGpuIsLost) return Lost(index, tick, report);
    // The driver was reloaded under us: begin again.
    if (result == kNvmlUninitialized) ready_ = false;
    if (status.ok()) status = Wrong(gpu, reader.what, result);
  }
  lost_ns_[index].reset();
  return status;
}

absl::Status NvmlSource::Lost(size_t index, const Tick& tick, wire::AgentReport& report) {
  const GpuInfo& gpu = gpus_[index];
  absl::Status status = Wrong(gpu, "is lost", kNvmlGpuIsLost);
  absl::optional<int64_t>& told_ns = lost_ns_[index];
  if (told_ns.has_value() && tick.monotonic_ns - *told_ns < kLostPeriodNs) return status;
  told_ns = tick.monotonic_ns;
  wire::KernelEvent& event = *report.add_kernel_events();
  event.set_kind(wire::KernelEvent::KIND_NVML);
  event.set_code(kNvmlGpuIsLost);
  event.set_device(gpu.pci_address.empty() ? gpu.device : gpu.pci_address);
  event.set_text(PrintableText(absl::StrCat("NVML: ", status.message()), kMaxKernelLineBytes));
  event.set_monotonic_ns(tick.monotonic_ns);
  return status;
}

GpuName NvmlSource::LookInside(size_t index, const Tick& tick, wire::AgentReport& report) {
  const GpuInfo& gpu = gpus_[index];
  GpuName name{static_cast<int32_t>(gpu.index), gpu.uuid, gpu.pci_address, {}, {}, gpu.minor};
  // Whoever is lost is not asked once more.
  if (gpu.handle == nullptr || lost_ns_[index].has_value()) return name;
  MetricBlockBuilder block(report, gpu.device, tick.monotonic_ns);
  const absl::optional<std::vector<MigInstance>> instances = ReadMigInstances(*api_, gpu.handle);
  if (instances.has_value()) {
    block.Add(Metric::kGpuMigInstances, static_cast<double>(instances->size()));
    name.instances = CollectInstances(gpu, *instances, tick, report);
    // One that was divided, or made whole, supports other things.
    if (instances->size() != instances_[index]) unsupported_[index].assign(NvmlReaders().size(), false);
    instances_[index] = instances->size();
  }
  absl::optional<std::vector<int32_t>> pids = ReadGpuProcesses(*api_, gpu.handle);
  for (const GpuInstanceName& instance : name.instances) {
    if (instance.pids.empty()) continue;
    if (!pids.has_value()) pids.emplace();
    pids->insert(pids->end(), instance.pids.begin(), instance.pids.end());
  }
  if (!pids.has_value()) return name;
  std::sort(pids->begin(), pids->end());
  pids->erase(std::unique(pids->begin(), pids->end()), pids->end());
  block.Add(Metric::kGpuProcesses, static_cast<double>(pids->size()));
  name.pids = *std::move(pids);
  return name;
}

std::vector<GpuInstanceName> NvmlSource::CollectInstances(const GpuInfo& gpu, absl::Span<const MigInstance> instances,
                                                          const Tick& tick, wire::AgentReport& report) const {
  std::vector<GpuInstanceName> names;
  for (const MigInstance& instance : instances) {
    const std::string device = absl::StrCat(gpu.device, "/mig", instance.index);
    MetricBlockBuilder block(report, device, tick.monotonic_ns);
    ReadNvmlMemory(*api_, instance.handle, block);
    const absl::optional<std::vector<int32_t>> pids = ReadGpuProcesses(*api_, instance.handle);
    if (pids.has_value()) block.Add(Metric::kGpuProcesses, static_cast<double>(pids->size()));
    names.push_back({instance.uuid, pids.value_or(std::vector<int32_t>()), static_cast<int32_t>(instance.index),
                     instance.gpu_instance});
  }
  return names;
}

absl::Status NvmlSource::Wrong(const GpuInfo& gpu, absl::string_view what, int result) {
  const absl::string_view address = gpu.pci_address.empty() ? "address unknown" : absl::string_view(gpu.pci_address);
  return absl::UnavailableError(absl::StrCat(gpu.device, " (", address, ") ", what, ": ", api_->error_string(result)));
}

}  // namespace lockstep
