// The GPUs that a process may use, by the minor numbers of their devices (/dev/nvidia<minor>): for ranks of which
// neither their recorder nor the driver says where they are. One that may use a single GPU is on that one.
//
// Two places tell. With cgroups of version 1 it is devices.list of the process's cgroup, unless all devices are
// allowed; what is only taken away from "all" is not listed there. With version 2 the list is a program in the kernel
// that no file shows. But a container has a /dev of its own, a tmpfs, with the devices that it may use, and whatever
// opens a GPU has to find it there. The /dev of the host says nothing: who has that one may use a GPU, and need not.
//
// That /dev is made by whoever runs the job, and may be made by the job: a link in it is not followed, and nothing is
// waited for that a file system in a process of the job's would have to answer. Looked up is what the kernel has in
// memory (RESOLVE_CACHED of openat2(2), Linux 5.12, else there is no answer); of a tmpfs that is everything. A job that
// lies here lies about itself alone, as it can in its ring.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_ALLOWED_GPUS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_ALLOWED_GPUS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/rooted_fs.h"

namespace lockstep {

inline constexpr uint32_t kNvidiaMajor = 195;
inline constexpr int32_t kMaxGpuMinor = 127;  // above are nvidia-modeset and nvidiactl
// Of a text that the kernel writes about a job. A job may have so many mounts that there is no answer.
inline constexpr size_t kMaxDevicesTextBytes = 256 << 10;

// The GPUs in the text of a devices.list, in order; nothing where all devices are allowed. Pure.
absl::optional<std::vector<int32_t>> GpusOfDevicesList(absl::string_view list);

// The path of the version 1 devices cgroup in the text of a /proc/PID/cgroup, "/docker/..."; "" = there is none. Pure.
std::string DevicesCgroup(absl::string_view cgroups);

// Whether the mount with this number in the text of a /proc/PID/mountinfo is a tmpfs. Pure.
bool IsTmpfs(absl::string_view mounts, uint64_t mount);

// The GPUs in the /dev below `root`, a descriptor of a process's root, in order. `mounts` is the text of its mountinfo.
// `major` is that of the devices.
std::vector<int32_t> GpusInDeviceFolder(int root, absl::string_view mounts, uint32_t major = kNvidiaMajor);

// The GPUs that this process may use, in order; empty = none, or not known. `fs` is where the host's proc/ and sys/
// are; the process's root is a link of the kernel's, which is followed in the agent's own /proc alone.
std::vector<int32_t> AllowedGpus(const RootedFs& fs, int32_t host_pid, uint64_t start_ticks);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_ALLOWED_GPUS_H_
