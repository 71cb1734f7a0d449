// Looks at one running process from outside: which communication library and which recorder are loaded into it, and
// what the recorder's ring says.
//
// Everything comes from /proc: the memory map names the libraries and the rings that the process holds, also when it
// lives in a container whose files have other names here; its own root (proc/PID/root) leads to them. Changes nothing
// and never touches the process. Values; thread-compatible.

#ifndef LOCKSTEP_CLI_DOCTOR_RECORDED_PROCESS_H_
#define LOCKSTEP_CLI_DOCTOR_RECORDED_PROCESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_format_nccl.h"

namespace lockstep {

inline constexpr size_t kTimingQualities = 6;  // of ring::TimingQuality

// A ring that the process has mapped. A recorder maps it under a passing name (ring_file.h), which the memory map goes
// on showing; the file is then found by the start of its name, `<pid>-<start ticks>-`, and its inode.
struct MappedRing {
  std::string folder;
  std::string name_prefix;
  uint64_t inode = 0;
};

// What the memory map of a process shows. Paths as the process sees them; "" = not loaded.
struct LoadedLibraries {
  std::string nccl;      // libnccl, or a library that is known to contain it
  std::string mpi;       // libmpi
  std::string profiler;  // our NCCL profiler plugin
  std::string preload;   // our recorder for old NCCL
  std::string recorder_of_mpi;
  std::vector<MappedRing> rings;  // at most kMaxRings

  static constexpr size_t kMaxRings = 16;

  bool communicates() const { return !nccl.empty() || !mpi.empty(); }
  bool has_recorder() const { return !profiler.empty() || !preload.empty() || !recorder_of_mpi.empty(); }
};

// `maps` is the text of proc/PID/maps. Pure.
LoadedLibraries FindLibraries(absl::string_view maps);

// One ring of the process, read once.
struct RingFacts {
  std::string path;
  std::string refused;  // why it cannot be read; "" = it can, and the rest is true
  ring::RecorderKind kind = ring::RecorderKind::kUnknown;
  ring::RecorderState state = ring::RecorderState::kInitializing;
  ring::DisabledReason disabled = ring::DisabledReason::kNone;
  std::string recorder_version;
  uint32_t library_version = 0;
  uint32_t abi_version = 0;
  std::string job;
  int32_t rank = -1;
  int32_t world_size = -1;
  int64_t opened_at_ns = 0;  // CLOCK_MONOTONIC
  uint64_t active_mask = 0;
  ring::RingCounters counters = {};
  ring::NcclStatus nccl = {};  // zero for other recorders
  uint64_t in_flight = 0;
  uint32_t communicators = 0;
  std::array<uint64_t, kTimingQualities> timing = {};  // operations still in the ring, by quality
};

struct RecordedProcess {
  int32_t pid = 0;
  std::string command;
  LoadedLibraries libraries;
  std::vector<RingFacts> rings;
  size_t rings_deleted = 0;  // still written, but nobody can open them any more
  // What the process was started with and what its nccl.conf says; "" = not set.
  std::string plugin_variable;
  std::string plugin_in_conf;
  std::string preload_variable;
  std::string recorder_variable;
  bool plugin_file_exists = false;  // where plugin_variable, else plugin_in_conf, says, seen from the process
};

// `root` is the folder that holds proc/. NOT_FOUND when there is no such process; PERMISSION_DENIED when it belongs to
// somebody else.
absl::StatusOr<RecordedProcess> LookAt(const std::string& root, int32_t pid);

// Pids that proc/ lists, by number.
absl::StatusOr<std::vector<int32_t>> AllProcesses(const std::string& root);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_DOCTOR_RECORDED_PROCESS_H_
