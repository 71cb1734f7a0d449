#include "agent/sources/nvml/mig_instances.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/string_view.h"
#include "agent/printable_text.h"

namespace lockstep {
namespace {

constexpr size_t kUuidBytes = 96;

}  // namespace

std::string ReadNvmlUuid(const NvmlApi& api, NvmlDevice device) {
  char uuid[kUuidBytes] = {};
  if (api.uuid == nullptr || api.uuid(device, uuid, sizeof(uuid)) != kNvmlSuccess) return "";
  return PrintableText(absl::string_view(uuid, strnlen(uuid, sizeof(uuid))), kUuidBytes);
}

absl::optional<std::vector<MigInstance>> ReadMigInstances(const NvmlApi& api, NvmlDevice device) {
  uint32_t mode = 0, pending = 0, most = 0;
  if (api.mig_mode == nullptr || api.mig_mode(device, &mode, &pending) != kNvmlSuccess) return absl::nullopt;
  std::vector<MigInstance> instances;
  if (mode != kNvmlMigEnabled || api.max_mig_instances == nullptr || api.mig_instance == nullptr) return instances;
  if (api.max_mig_instances(device, &most) != kNvmlSuccess) return instances;
  for (uint32_t i = 0; i < std::min(most, kMaxMigInstances); ++i) {
    MigInstance instance{.index = i};
    if (api.mig_instance(device, i, &instance.handle) != kNvmlSuccess) continue;  // nobody has made that one
    instance.uuid = ReadNvmlUuid(api, instance.handle);
    uint32_t id = 0;
    if (api.gpu_instance_id != nullptr && api.gpu_instance_id(instance.handle, &id) == kNvmlSuccess) {
      instance.gpu_instance = static_cast<int32_t>(id);
    }
    instances.push_back(std::move(instance));
  }
  return instances;
}

}  // namespace lockstep
