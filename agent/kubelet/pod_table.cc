#include "agent/kubelet/pod_table.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/kubelet/device_checkpoint.h"
#include "agent/kubelet/pod_uid.h"
#include "base/log.h"

namespace lockstep {
namespace {

constexpr absl::string_view kLogFolders = "var/log/pods";
constexpr absl::string_view kCheckpoint = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
constexpr size_t kMaxCgroupBytes = 64 << 10;
constexpr size_t kMaxNamespaceBytes = 63;
constexpr size_t kMaxPodNameBytes = 253;

bool IsDnsName(absl::string_view text, size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) || c == '-' || c == '.';
  });
}

}  // namespace

absl::optional<std::pair<std::string, Pod>> ParsePodLogFolder(absl::string_view folder) {
  // None of the three may hold a '_'.
  const std::vector<absl::string_view> parts = absl::StrSplit(folder, '_');
  const bool is_one = parts.size() == 3 && IsDnsName(parts[0], kMaxNamespaceBytes) &&
                      IsDnsName(parts[1], kMaxPodNameBytes) && IsPodUid(parts[2]);
  if (!is_one) return absl::nullopt;
  return std::make_pair(std::string(parts[2]), Pod{std::string(parts[0]), std::string(parts[1]), {}});
}

PodTable::Result PodTable::Find(int32_t host_pid, int64_t now_ns) {
  const absl::StatusOr<std::string> cgroups =
      root_.ReadFile(absl::StrCat("proc/", host_pid, "/cgroup"), kMaxCgroupBytes);
  const std::string uid = cgroups.ok() ? PodUidOfCgroups(*cgroups) : "";
  if (uid.empty()) return {};
  const bool is_due = !scanned_ns_.has_value() || now_ns - *scanned_ns_ >= kRescanNanos;
  if (pods_.count(uid) == 0 && is_due) Scan(now_ns);
  const auto pod = pods_.find(uid);
  if (pod != pods_.end()) return {Answer::kFound, pod->second};
  return {is_node_ ? Answer::kNotYet : Answer::kNoPod, {}};
}

void PodTable::Scan(int64_t now_ns) {
  scanned_ns_ = now_ns;
  pods_.clear();
  const absl::StatusOr<std::vector<std::string>> folders = root_.ReadDir(kLogFolders);
  is_node_ = folders.ok();
  if (!folders.ok()) return;
  for (const std::string& folder : *folders) {
    absl::optional<std::pair<std::string, Pod>> pod = ParsePodLogFolder(folder);
    if (pod.has_value() && pods_.size() < kMaxPods) pods_.insert(*std::move(pod));
  }
  const absl::StatusOr<std::string> text = root_.ReadFile(kCheckpoint, kMaxCheckpointBytes);
  if (!text.ok()) return;
  const auto gpus = ParseDeviceCheckpoint(*text);
  if (!gpus.ok()) {
    Log(LogLevel::kDebug, "the kubelet's device checkpoint cannot be used", {{"status", gpus.status().ToString()}});
    return;
  }
  for (const auto& [uid, uuids] : *gpus) {
    const auto pod = pods_.find(uid);
    if (pod != pods_.end()) pod->second.gpu_uuids = uuids;
  }
}

}  // namespace lockstep
