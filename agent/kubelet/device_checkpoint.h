// Which GPUs the kubelet has given to which pod, from the checkpoint of its device manager.

#ifndef LOCKSTEP_AGENT_KUBELET_DEVICE_CHECKPOINT_H_
#define LOCKSTEP_AGENT_KUBELET_DEVICE_CHECKPOINT_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// Beyond these entries nobody is told of; a node runs some hundred pods.
inline constexpr size_t kMaxCheckpointPods = 4096;
inline constexpr size_t kMaxGpusPerPod = 64;

// UUIDs by UID of the pod: of all resources of nvidia.com, and of its containers together. Lists of devices are as
// kubelets before 1.20 wrote them, or by NUMA node. Entries that make no sense are left out; DATA_LOSS for what is no
// such checkpoint. Pure.
absl::StatusOr<std::map<std::string, std::vector<std::string>>> ParseDeviceCheckpoint(absl::string_view json);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KUBELET_DEVICE_CHECKPOINT_H_
