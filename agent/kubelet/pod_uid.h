// Which pod a process is in, as its cgroup says: the kubelet names the cgroups of pods after their UIDs.

#ifndef LOCKSTEP_AGENT_KUBELET_POD_UID_H_
#define LOCKSTEP_AGENT_KUBELET_POD_UID_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// The UID in `cgroups`, the text of a /proc/PID/cgroup; "" = in no pod. Understands both versions of cgroups and both
// drivers ("/kubepods/burstable/podUID/...", "/kubepods.slice/.../kubepods-burstable-podUID.slice/..."), seen from any
// cgroup namespace. Where there are several it is the outermost: a container may make cgroups of any name inside its
// own. Static pods have a hash for a UID. Pure.
std::string PodUidOfCgroups(absl::string_view cgroups);

// "1b4e28ba-2fa1-11d2-883f-0016d3cca427", or 32 hexadecimal digits. Pure.
bool IsPodUid(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KUBELET_POD_UID_H_
