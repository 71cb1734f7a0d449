// The names of this machine's GPUs: index, UUID, PCI address, device, and the processes on each. A recorder knows its
// GPU by UUID, the kernel log by address, counters by index; after Apply a report calls each by all of its names, and
// every now and then lists them.
//
// Thread-safe: the source that knows GPUs has a thread of its own, and may hang.

#ifndef LOCKSTEP_AGENT_GPU_NAMES_H_
#define LOCKSTEP_AGENT_GPU_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// A part of a GPU that processes take for one.
struct GpuInstanceName {
  std::string uuid;           // "MIG-..."; "" = unknown
  std::vector<int32_t> pids;  // as of GpuName
  int32_t index = -1;         // "gpu<index>/mig<index>" in metrics
  int32_t gpu_instance = -1;  // id of the GPU instance that it is in, or is all of; -1 = unknown
};

struct GpuName {
  int32_t index = -1;         // NVML's, "gpu<index>" in metrics
  std::string uuid;           // "GPU-..."; "" = unknown
  std::string pci_address;    // "0000:3b:00.0"; "" = unknown
  std::vector<int32_t> pids;  // of the host, as of some seconds ago; also of the instances
  std::vector<GpuInstanceName> instances;
  int32_t minor = -1;  // of its device, /dev/nvidia<minor>; -1 = unknown
};

class GpuNames {
 public:
  // The list of all GPUs goes with every so many reports, besides those after a change: a collector that was started
  // anew knows it after a minute, and the report stays small.
  static constexpr int kListEveryReports = 60;

  void Set(std::vector<GpuName> gpus);

  // Nobody has told of any.
  bool empty() const;

  // The device of the GPU with this UUID in metrics; "" = none is known.
  std::string DeviceOf(absl::string_view uuid) const;

  // Likewise of the only MIG instance that is in a GPU instance of it; "" also where several share that.
  std::string DeviceOf(absl::string_view uuid, int32_t gpu_instance) const;

  // Of the GPU with this device; "" = none is known, or it is divided: who may use it has a part of it.
  std::string UuidOfMinor(int32_t minor) const;

  // A process is on the GPU that its recorder names, or else on the only one that lists its pid; what is known of that
  // GPU is filled in; the UUID is that of the instance where the process has one. An event about a GPU's address is
  // about "gpu<index>", and keeps the address beside it.
  void Apply(wire::AgentReport& report);

 private:
  // A GPU, and the UUID by which the process has it.
  struct Place {
    const GpuName* gpu = nullptr;
    std::string uuid;
  };

  const GpuName* Find(absl::string_view uuid) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Place PlaceOf(const wire::ProcessReport& process) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void List(wire::AgentReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<GpuName> gpus_ ABSL_GUARDED_BY(mutex_);
  std::vector<GpuName> listed_ ABSL_GUARDED_BY(mutex_);  // in the last report with a list; processes aside
  int reports_since_list_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_GPU_NAMES_H_
