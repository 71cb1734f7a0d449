// NVIDIA GPUs, through NVML.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_NVML_SOURCE_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_NVML_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "agent/gpu_names.h"
#include "agent/kernel_xids.h"
#include "agent/source.h"
#include "agent/sources/nvml/gpu_events.h"
#include "agent/sources/nvml/gpu_inventory.h"
#include "agent/sources/nvml/mig_instances.h"
#include "agent/sources/nvml/nvml_api.h"

namespace lockstep {

// Device names are "gpu<index>". What a GPU does not support costs only its own metric and is not asked for again.
//
// NoData without the library, the driver or a GPU; looked for again every kRetryNs. A GPU that is lost, and any other
// refusal, fails the tick with the GPU named, after the others were read. That a GPU is lost is an event besides, as
// the kernel's line of it would be: at once, and again every kLostPeriodNs while it is so. Xids are events too, where
// the kernel log does not tell of them (gpu_events.h). The memory of MIG instances is that of "gpu<index>/mig<index>".
// May hang: a sick driver does not return from its calls. Owns all that it touches. Not thread-safe.
class NvmlSource final : public Source {
 public:
  static constexpr int64_t kRetryNs = 30'000'000'000;
  // Between two readings of what is NvmlCadence::kSlow.
  static constexpr int64_t kSlowPeriodNs = 10'000'000'000;
  // Between two events of one lost GPU: often enough for a finding to stay, and for a collector started anew to hear.
  static constexpr int64_t kLostPeriodNs = 60'000'000'000;

  // `library` as dlopen takes it; `names` hears of the GPUs, and of the processes on them with what is slow;
  // `kernel_xids` knows which Xids need not be told again.
  NvmlSource(std::string library, std::shared_ptr<GpuNames> names, std::shared_ptr<const KernelXids> kernel_xids)
      : library_(std::move(library)), names_(std::move(names)), events_(std::move(kernel_xids)) {}

  absl::string_view name() const override { return "nvml"; }
  absl::Status Collect(const Tick& tick, wire::AgentReport& report) override;

  // The GPUs that can be opened.
  std::vector<std::string> parts() const override;

  // The GPUs found so far.
  const std::vector<GpuInfo>& gpus() const { return gpus_; }

 private:
  absl::Status Open();
  // Returns what is wrong with the GPU, or OK.
  absl::Status CollectGpu(size_t index, const Tick& tick, bool slow, wire::AgentReport& report);
  // One that NVML calls lost, whatever was asked of it.
  absl::Status Lost(size_t index, const Tick& tick, wire::AgentReport& report);
  // What instances and processes it has, to the report and as its name.
  GpuName LookInside(size_t index, const Tick& tick, wire::AgentReport& report);
  std::vector<GpuInstanceName> CollectInstances(const GpuInfo& gpu, absl::Span<const MigInstance> instances,
                                                const Tick& tick, wire::AgentReport& report) const;
  absl::Status Wrong(const GpuInfo& gpu, absl::string_view what, int result);

  const std::string library_;
  const std::shared_ptr<GpuNames> names_;
  absl::optional<NvmlApi> api_;
  bool ready_ = false;  // initialised and with GPUs
  absl::optional<int64_t> opened_ns_;
  absl::Status open_status_;
  absl::optional<int64_t> slow_ns_;
  size_t turn_ = 0;  // the GPU whose turn it is
  std::vector<GpuInfo> gpus_;
  GpuEvents events_;
  std::vector<std::vector<bool>> unsupported_;    // by GPU and reader
  std::vector<size_t> instances_;                 // by GPU: as of the last look
  std::vector<absl::optional<int64_t>> lost_ns_;  // by GPU: when that was last told; nothing = not lost
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_NVML_SOURCE_H_
