// Cgroups are named by whoever made them, folders of logs and the checkpoint by a kubelet of any version.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/kubelet/device_checkpoint.h"
#include "agent/kubelet/pod_table.h"
#include "agent/kubelet/pod_uid.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string uid = lockstep::PodUidOfCgroups(input);
  CHECK(uid.empty() || lockstep::IsPodUid(uid));
  const auto pod = lockstep::ParsePodLogFolder(input);
  CHECK(!pod.has_value() || (lockstep::IsPodUid(pod->first) && input.find(pod->second.name) != input.npos));
  const auto gpus = lockstep::ParseDeviceCheckpoint(input);
  if (!gpus.ok()) return 0;
  CHECK(gpus->size() <= lockstep::kMaxCheckpointPods);
  for (const auto& [owner, uuids] : *gpus) {
    CHECK(lockstep::IsPodUid(owner));
    CHECK(uuids.size() <= lockstep::kMaxGpusPerPod);
  }
  return 0;
}
