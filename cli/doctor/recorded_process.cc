#include "cli/doctor/recorded_process.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/ring_reader.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/sources/rings/ring_text.h"
#include "agent/unique_fd.h"
#include "base/status_macros.h"
#include "cli/nccl_conf.h"

namespace lockstep {
namespace {

constexpr size_t kMaxMapsBytes = 16 << 20;
constexpr size_t kMaxEnvironmentBytes = 4 << 20;
constexpr size_t kMaxConfBytes = 1 << 20;

// Which library a file is, by the beginning of its name. The first row that fits counts.
struct LibraryRow {
  absl::string_view prefix;
  std::string LoadedLibraries::*field;
};
constexpr LibraryRow kLibraries[] = {
    {"libnccl-profiler-lockstep", &LoadedLibraries::profiler},
    {"liblockstep-preload.so", &LoadedLibraries::preload},
    {"liblockstep-mpi.so", &LoadedLibraries::recorder_of_mpi},
    {"libnccl.so", &LoadedLibraries::nccl},
    {"librccl.so", &LoadedLibraries::nccl},
    // PyTorch that was built with NCCL inside.
    {"libtorch_cuda", &LoadedLibraries::nccl},
    {"libmpi.so", &LoadedLibraries::mpi},
};

constexpr absl::string_view kPassingSuffix = ".new (deleted)";

// The sixth field of a line of maps, which may contain spaces; "" = memory without a file.
absl::string_view MappedFile(absl::string_view line) {
  const size_t slash = line.find('/');
  return slash == absl::string_view::npos ? absl::string_view() : line.substr(slash);
}

// The fifth.
uint64_t MappedInode(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 5), absl::SkipEmpty());
  uint64_t inode = 0;
  return fields.size() > 4 && absl::SimpleAtoi(fields[4], &inode) ? inode : 0;
}

// The part of a ring's name, passing or final, that tells the process: "7-99-" of ".7-99-0x7f.new" and "7-99-0.ring".
// "" = it is no ring.
absl::string_view RingPrefix(absl::string_view name) {
  const bool is_passing = absl::StartsWith(name, ".") && absl::EndsWith(name, kPassingSuffix);
  if (is_passing) name.remove_prefix(1);
  if (!is_passing && !absl::EndsWith(name, ring::kFileSuffix)) return "";
  const size_t first = name.find('-');
  const size_t second = first == absl::string_view::npos ? first : name.find('-', first + 1);
  return second == absl::string_view::npos ? absl::string_view() : name.substr(0, second + 1);
}

void AddRing(absl::string_view path, absl::string_view prefix, uint64_t inode, LoadedLibraries& found) {
  for (const MappedRing& ring : found.rings) {
    if (ring.inode == inode) return;
  }
  if (found.rings.size() == LoadedLibraries::kMaxRings) return;
  found.rings.push_back({std::string(path.substr(0, path.rfind('/'))), std::string(prefix), inode});
}

// The value of `name` in the text of an environ file; "" = not set.
std::string Variable(absl::string_view environment, absl::string_view name) {
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, name) && absl::ConsumePrefix(&entry, "=")) return std::string(entry);
  }
  return "";
}

void Count(const std::vector<ring::OperationSlot>& slots, RingFacts& facts) {
  for (const ring::OperationSlot& slot : slots) {
    ++facts.timing[slot.timing_quality < kTimingQualities ? slot.timing_quality : 0];
  }
}

// Opens the file of a mapped ring. NOT_FOUND when it has been removed.
absl::StatusOr<UniqueFd> OpenRing(const RootedFs& own_root, const MappedRing& ring, std::string* path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, own_root.ReadDir(absl::string_view(ring.folder).substr(1)));
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, ring.name_prefix) || !absl::EndsWith(name, ring::kFileSuffix)) continue;
    *path = absl::StrCat(ring.folder, "/", name);
    ASSIGN_OR_RETURN(UniqueFd file, own_root.OpenFile(absl::string_view(*path).substr(1), O_RDONLY | O_NONBLOCK));
    struct stat facts = {};
    if (fstat(file.get(), &facts) == 0 && facts.st_ino == ring.inode) return file;
  }
  return absl::NotFoundError("the file of the ring has been removed");
}

RingFacts ReadRing(UniqueFd file, const std::string& path) {
  RingFacts facts;
  facts.path = path;
  RingRefusal refusal;
  const std::unique_ptr<RingReader> reader = RingReader::Open(std::move(file), /*since_ns=*/0, &refusal);
  RingSnapshot snapshot;
  const absl::Status polled = reader == nullptr ? absl::DataLossError(refusal.detail) : reader->Poll(&snapshot);
  if (!polled.ok()) {
    facts.refused = std::string(polled.message());
    return facts;
  }
  const ring::RingHeader& header = reader->header();
  facts.kind = static_cast<ring::RecorderKind>(header.recorder_kind);
  facts.state = static_cast<ring::RecorderState>(snapshot.state);
  facts.disabled = static_cast<ring::DisabledReason>(snapshot.disabled_reason);
  facts.recorder_version = RingText(header.recorder_version);
  facts.library_version = header.library_version;
  facts.abi_version = header.abi_version;
  facts.job = RingText(header.job);
  facts.rank = header.rank;
  facts.world_size = header.world_size;
  facts.opened_at_ns = header.opened_at_ns;
  facts.active_mask = header.active_mask;
  facts.nccl = header.nccl;
  facts.counters = snapshot.counters;
  facts.in_flight = snapshot.in_flight.size();
  facts.communicators = static_cast<uint32_t>(snapshot.communicators.size());
  Count(snapshot.finished, facts);
  Count(snapshot.in_flight, facts);
  return facts;
}

// The nccl.conf that the process would read: its user's, else the machine's.
std::string PluginInConf(const RootedFs& own_root, absl::string_view environment) {
  const std::string named = Variable(environment, "NCCL_CONF_FILE");
  const std::string home = Variable(environment, "HOME");
  const std::string candidates[] = {!named.empty() ? named : absl::StrCat(home, "/.nccl.conf"), "/etc/nccl.conf"};
  for (const std::string& path : candidates) {
    if (path.empty() || path[0] != '/') continue;
    const absl::StatusOr<std::string> text = own_root.ReadFile(absl::string_view(path).substr(1), kMaxConfBytes);
    const std::string value = text.ok() ? NcclConfValue(*text, kNcclPluginVariable) : "";
    if (!value.empty()) return value;
  }
  return "";
}

void LookThroughItsEyes(const RootedFs& own_root, absl::string_view environment, RecordedProcess& process) {
  process.plugin_in_conf = PluginInConf(own_root, environment);
  const std::string& plugin = process.plugin_variable.empty() ? process.plugin_in_conf : process.plugin_variable;
  process.plugin_file_exists = absl::StartsWith(plugin, "/") && own_root.Exists(absl::string_view(plugin).substr(1));
  for (const MappedRing& ring : process.libraries.rings) {
    std::string path = absl::StrCat(ring.folder, "/", ring.name_prefix);
    absl::StatusOr<UniqueFd> file = OpenRing(own_root, ring, &path);
    if (file.ok()) {
      process.rings.push_back(ReadRing(*std::move(file), path));
    } else if (absl::IsNotFound(file.status())) {
      ++process.rings_deleted;
    } else {
      process.rings.push_back({.path = path, .refused = std::string(file.status().message())});
    }
  }
}

}  // namespace

LoadedLibraries FindLibraries(absl::string_view maps) {
  LoadedLibraries found;
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    const absl::string_view path = MappedFile(line);
    if (path.empty()) continue;
    const absl::string_view name = path.substr(path.rfind('/') + 1);
    const absl::string_view ring_prefix = RingPrefix(name);
    if (!ring_prefix.empty()) AddRing(path, ring_prefix, MappedInode(line), found);
    for (const LibraryRow& row : kLibraries) {
      if (!absl::StartsWith(name, row.prefix)) continue;
      if ((found.*row.field).empty()) found.*row.field = std::string(path);
      break;
    }
  }
  return found;
}

absl::StatusOr<RecordedProcess> LookAt(const std::string& root, int32_t pid) {
  ASSIGN_OR_RETURN(const RootedFs fs, RootedFs::Open(root));
  const std::string folder = absl::StrCat("proc/", pid);
  RecordedProcess process;
  process.pid = pid;
  ASSIGN_OR_RETURN(const std::string maps, fs.ReadFile(absl::StrCat(folder, "/maps"), kMaxMapsBytes));
  process.libraries = FindLibraries(maps);
  const absl::StatusOr<std::string> command = fs.ReadFile(absl::StrCat(folder, "/comm"), 256);
  if (command.ok()) process.command = std::string(absl::StripAsciiWhitespace(*command));
  const std::string environment =
      fs.ReadFile(absl::StrCat(folder, "/environ"), kMaxEnvironmentBytes).value_or(std::string());
  process.plugin_variable = Variable(environment, kNcclPluginVariable);
  process.preload_variable = Variable(environment, "LD_PRELOAD");
  process.recorder_variable = Variable(environment, "LOCKSTEP_RECORDER");
  // A magic link, which a rooted look-up refuses on purpose: opened by name, it is the root of the process.
  absl::StatusOr<RootedFs> own_root = RootedFs::Open(absl::StrCat(root, "/", folder, "/root"));
  if (!own_root.ok()) return own_root.status();
  LookThroughItsEyes(*own_root, environment, process);
  return process;
}

absl::StatusOr<std::vector<int32_t>> AllProcesses(const std::string& root) {
  ASSIGN_OR_RETURN(const RootedFs fs, RootedFs::Open(root));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.ReadDir("proc"));
  std::vector<int32_t> pids;
  for (const std::string& name : names) {
    int32_t pid = 0;
    if (absl::SimpleAtoi(name, &pid) && pid > 0) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace lockstep
