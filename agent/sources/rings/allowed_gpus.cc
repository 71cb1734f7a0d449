#include "agent/sources/rings/allowed_gpus.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/sources/rings/process_stat.h"
#include "agent/text_fields.h"
#include "agent/unique_fd.h"

namespace lockstep {
namespace {

// Never waits: what is not in memory, or only a file system of the job's can tell, is not opened.
UniqueFd OpenInMemory(int folder, const std::string& name, int flags, uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_PATH | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = resolve | RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, folder, name.c_str(), &how, sizeof(how))));
}

// As the kernel has it, without asking the file system.
absl::optional<struct statx> LookAt(const UniqueFd& file) {
  struct statx what = {};
  const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (statx(file.get(), "", flags, STATX_TYPE | STATX_MNT_ID, &what) != 0) return absl::nullopt;
  return what;
}

// Adds the GPU that a line allows; true = it allows all of them.
bool TakeAllowed(absl::string_view line, std::set<int32_t>& gpus) {
  // "c 195:0 rwm"; a GPU that may not be read and written is of no use.
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (fields.size() != 3) return false;
  if (fields[0] == "a") return true;
  const std::vector<absl::string_view> numbers = absl::StrSplit(fields[1], ':');
  if (fields[0] != "c" || numbers.size() != 2) return false;
  if (!absl::StrContains(fields[2], 'r') || !absl::StrContains(fields[2], 'w')) return false;
  uint32_t major = 0;
  if (numbers[0] != "*" && (!absl::SimpleAtoi(numbers[0], &major) || major != kNvidiaMajor)) return false;
  if (numbers[1] == "*") return true;
  int32_t minor = 0;
  if (absl::SimpleAtoi(numbers[1], &minor) && minor >= 0 && minor <= kMaxGpuMinor) gpus.insert(minor);
  return false;
}

}  // namespace

absl::optional<std::vector<int32_t>> GpusOfDevicesList(absl::string_view list) {
  std::set<int32_t> gpus;
  while (!list.empty()) {
    if (TakeAllowed(TakeLine(list), gpus)) return absl::nullopt;
  }
  return std::vector<int32_t>(gpus.begin(), gpus.end());
}

std::string DevicesCgroup(absl::string_view cgroups) {
  while (!cgroups.empty()) {
    // "4:devices:/docker/...", also "4:cpu,devices:/..."; a controller has no ':' in its name.
    const std::vector<absl::string_view> parts = absl::StrSplit(TakeLine(cgroups), absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      if (controller == "devices") return std::string(parts[2]);
    }
  }
  return "";
}

bool IsTmpfs(absl::string_view mounts, uint64_t mount) {
  while (!mounts.empty()) {
    // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"; blanks in names are escaped.
    absl::string_view line = TakeLine(mounts);
    uint64_t id = 0;
    if (!absl::SimpleAtoi(TakeField(line), &id) || id != mount) continue;
    absl::string_view field = TakeField(line);
    while (!field.empty() && field != "-") field = TakeField(line);
    return TakeField(line) == "tmpfs";
  }
  return false;
}

std::vector<int32_t> GpusInDeviceFolder(int root, absl::string_view mounts, uint32_t major) {
  const UniqueFd folder = OpenInMemory(root, "dev", O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (!folder.valid()) return {};
  const absl::optional<struct statx> place = LookAt(folder);
  // Elsewhere a device that is there may not be in memory: another one would be taken for the only one.
  if (!place.has_value() || !IsTmpfs(mounts, place->stx_mnt_id)) return {};
  std::vector<int32_t> gpus;
  for (int32_t minor = 0; minor <= kMaxGpuMinor; ++minor) {
    const UniqueFd device = OpenInMemory(folder.get(), absl::StrCat("nvidia", minor), 0, RESOLVE_BENEATH);
    if (!device.valid()) continue;
    const absl::optional<struct statx> what = LookAt(device);
    // Another thing by that name, a link to a device maybe: nobody knows how many GPUs there are.
    if (!what.has_value() || !S_ISCHR(what->stx_mode) || what->stx_rdev_major != major ||
        what->stx_rdev_minor != static_cast<uint32_t>(minor)) {
      return {};
    }
    gpus.push_back(minor);
  }
  return gpus;
}

std::vector<int32_t> AllowedGpus(const RootedFs& fs, int32_t host_pid, uint64_t start_ticks) {
  const std::string process = absl::StrCat("proc/", host_pid);
  if (const auto cgroups = fs.ReadFile(process + "/cgroup", kMaxDevicesTextBytes); cgroups.ok()) {
    // Seen from inside of another cgroup a path may begin with "/..", which is no path of RootedFs.
    const std::string cgroup = DevicesCgroup(*cgroups);
    const auto list = fs.ReadFile(absl::StrCat("sys/fs/cgroup/devices", cgroup, "/devices.list"), kMaxDevicesTextBytes);
    if (!cgroup.empty() && list.ok()) {
      absl::optional<std::vector<int32_t>> gpus = GpusOfDevicesList(*list);
      if (gpus.has_value()) return *std::move(gpus);
    }
  }
  const absl::StatusOr<RootedFs> own = RootedFs::Open("/");
  if (!own.ok()) return {};
  const absl::StatusOr<UniqueFd> root = own->OpenFile(process + "/root", O_PATH | O_DIRECTORY);
  const absl::StatusOr<std::string> mounts = own->ReadFile(process + "/mountinfo", kMaxDevicesTextBytes);
  if (!root.ok() || !mounts.ok()) return {};
  std::vector<int32_t> gpus = GpusInDeviceFolder(root->get(), *mounts);
  // After all of it was read: the pid may be another process's by now, or is that of another one in the agent's own
  // /proc.
  const absl::StatusOr<ProcessStat> stat = ReadProcessStat(*own, host_pid);
  if (!stat.ok() || stat->start_ticks != start_ticks) return {};
  return gpus;
}

}  // namespace lockstep
