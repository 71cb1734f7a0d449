#include "agent/kubelet/device_checkpoint.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "agent/kubelet/pod_uid.h"
#include "agent/printable_text.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr size_t kMaxUuidBytes = 96;

// nullptr = there is none.
const json* Member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string TextOf(const json& object, const char* name) {
  const json* const member = Member(object, name);
  return member != nullptr && member->is_string() ? member->get<std::string>() : "";
}

// One device may be shared by name ("GPU-...::1"), and is the same GPU then.
void AddDevice(const json& device, std::vector<std::string>& uuids) {
  if (!device.is_string() || uuids.size() == kMaxGpusPerPod) return;
  const std::string id = device.get<std::string>();
  std::string uuid = PrintableText(absl::string_view(id).substr(0, id.find("::")), kMaxUuidBytes);
  const bool is_gpu = absl::StartsWith(uuid, "GPU-") || absl::StartsWith(uuid, "MIG-");
  if (is_gpu && std::find(uuids.begin(), uuids.end(), uuid) == uuids.end()) uuids.push_back(std::move(uuid));
}

void AddDevices(const json& devices, std::vector<std::string>& uuids) {
  // A list, or a list for each NUMA node; both are walked over by value.
  for (const json& entry : devices) {
    if (entry.is_array()) {
      for (const json& device : entry) AddDevice(device, uuids);
    } else {
      AddDevice(entry, uuids);
    }
  }
}

}  // namespace

absl::StatusOr<std::map<std::string, std::vector<std::string>>> ParseDeviceCheckpoint(absl::string_view text) {
  const json checkpoint = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  const json* const data = Member(checkpoint, "Data");
  const json* const entries = data == nullptr ? nullptr : Member(*data, "PodDeviceEntries");
  if (entries == nullptr || !(entries->is_array() || entries->is_null())) {
    return absl::DataLossError("is no checkpoint of the kubelet's device manager: Data.PodDeviceEntries is missing");
  }
  std::map<std::string, std::vector<std::string>> gpus;
  for (const json& entry : *entries) {
    const std::string uid = TextOf(entry, "PodUID");
    const json* const devices = Member(entry, "DeviceIDs");
    if (!IsPodUid(uid) || devices == nullptr || !absl::StartsWith(TextOf(entry, "ResourceName"), "nvidia.com/"))
      continue;
    if (gpus.size() == kMaxCheckpointPods && gpus.count(uid) == 0) continue;
    AddDevices(*devices, gpus[uid]);
  }
  return gpus;
}

}  // namespace lockstep
