#include "collector/tenant_share.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

// The GPU that a device is, or is a part of.
std::optional<int32_t> GpuOf(absl::string_view device) {
  int32_t gpu = 0;
  if (!absl::ConsumePrefix(&device, "gpu") || !absl::SimpleAtoi(device.substr(0, device.find('/')), &gpu)) {
    return std::nullopt;
  }
  return gpu;
}

// A GPU that the agent cannot name stands there by its PCI address: it is no rank's.
bool IsOfGpu(const wire::KernelEvent& event) {
  return event.kind() == wire::KernelEvent::KIND_XID || event.kind() == wire::KernelEvent::KIND_NVML ||
         GpuOf(event.device()).has_value();
}

bool IsOwn(const wire::KernelEvent& event, const HostShare& share, const std::set<int32_t>& pids) {
  if (event.pid() != 0 && pids.contains(event.pid())) return true;
  if (IsOfGpu(event)) return GpuOf(event.device()).has_value() && share.Has(event.device());
  return event.pid() == 0;
}

}  // namespace

bool HostShare::Has(absl::string_view device) const {
  const std::optional<int32_t> gpu = GpuOf(device);
  return whole || !gpu.has_value() || gpus.contains(*gpu);
}

bool HostShare::Has(const wire::Gpu& gpu) const {
  return whole || (gpus.contains(gpu.index()) && (gpu.to_wall_ns() == 0 || gpu.to_wall_ns() > span.first_wall_ns));
}

void KeepOwnShare(wire::CaptureInput& input) {
  HostShare share;
  std::set<int32_t> pids;
  for (const wire::ProcessReport& process : input.report().processes()) {
    pids.insert(process.pid());
    if (process.gpu_index() >= 0) share.gpus.insert(process.gpu_index());
  }
  auto& metrics = *input.mutable_report()->mutable_metrics();
  metrics.erase(std::remove_if(metrics.begin(), metrics.end(),
                               [&](const wire::MetricBlock& block) { return !share.Has(block.device()); }),
                metrics.end());
  auto& events = *input.mutable_report()->mutable_kernel_events();
  events.erase(std::remove_if(events.begin(), events.end(),
                              [&](const wire::KernelEvent& event) { return !IsOwn(event, share, pids); }),
               events.end());
}

}  // namespace lockstep
