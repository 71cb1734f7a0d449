// Xids and double-bit memory errors as NVML tells of them, which it does also where the kernel log cannot be read.
//
// Each is the same event that a line of the kernel log would be; a double-bit error is the Xid that the driver logs for
// it. What the kernel log tells of as well is left to it: its line says more. So an event waits for one tick, in which
// that line is read, before it is reported. NVLink faults are Xids; NVML has no other event for them.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_GPU_EVENTS_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_GPU_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "agent/kernel_xids.h"
#include "agent/source.h"
#include "agent/sources/nvml/gpu_inventory.h"
#include "agent/sources/nvml/nvml_api.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Not thread-safe. The library must live as long.
class GpuEvents {
 public:
  // Taken from the library in one tick; the rest waits there.
  static constexpr size_t kMaxEventsPerTick = 64;

  explicit GpuEvents(std::shared_ptr<const KernelXids> kernel_xids) : kernel_xids_(std::move(kernel_xids)) {}
  ~GpuEvents();
  GpuEvents(const GpuEvents&) = delete;
  GpuEvents& operator=(const GpuEvents&) = delete;

  // Listens to `gpus` from now on, and to no others. A library without events, and GPUs that have none, tell nothing.
  void Listen(const NvmlApi& api, absl::Span<const GpuInfo> gpus);

  // Reports what came until the last tick, and takes what has come since. Never waits.
  void Collect(const Tick& tick, absl::Span<const GpuInfo> gpus, wire::AgentReport& report);

 private:
  void Take(const NvmlEventData& data, const Tick& tick, absl::Span<const GpuInfo> gpus);
  void Close();

  const std::shared_ptr<const KernelXids> kernel_xids_;
  NvmlApi api_ = {};
  NvmlEventSet set_ = nullptr;              // nullptr = nobody is listened to
  std::vector<wire::KernelEvent> waiting_;  // at most kMaxEventsPerTick, each of another GPU or Xid
  int64_t heard_from_ns_ = 0;               // what waits came about between these two
  int64_t heard_until_ns_ = -1;             // -1 = never yet
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_GPU_EVENTS_H_
