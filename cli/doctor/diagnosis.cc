#include "cli/doctor/diagnosis.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/nccl_conf.h"

namespace lockstep {
namespace {

// Indexed by the number in the ring.
constexpr absl::string_view kKinds[] = {"unknown", "mpi", "nccl-profiler", "nccl-preload"};
constexpr absl::string_view kStates[] = {"initializing", "active", "finalized", "disabled"};
constexpr absl::string_view kReasons[] = {
    "no reason given",
    "switched off by LOCKSTEP_RECORDER=off",
    "the library speaks an interface that the recorder does not know",
    "the library's events came in an order that cannot be explained",
    "recording cost more than its budget",
    "a better recorder is in the process",
    "this release of the library is known to crash when it is recorded",
};
constexpr absl::string_view kQualities[] = {"unknown",        "gpu timer", "kernel window",
                                            "proxy envelope", "host call", "host enqueue"};

template <size_t kCount, typename Enum>
absl::string_view FromTable(const absl::string_view (&table)[kCount], Enum value) {
  const auto number = static_cast<size_t>(value);
  return number < kCount ? table[number] : absl::string_view("unknown");
}

// The NCCL plugin is not in the process although NCCL is: what its settings say.
RecordingDiagnosis WithoutNcclRecorder(const RecordedProcess& process) {
  const bool from_variable = !process.plugin_variable.empty();
  const std::string& plugin = from_variable ? process.plugin_variable : process.plugin_in_conf;
  const char* const place = from_variable ? "the environment" : "nccl.conf";
  if (plugin.empty()) {
    return {false, "not_enabled",
            "NCCL is loaded, but neither the environment nor nccl.conf names the recorder (lockstep enable-nccl)"};
  }
  if (!IsOurPlugin(plugin)) {
    return {false, "other_profiler",
            absl::StrCat(place, " names another profiler, ", plugin,
                         " (LOCKSTEP_CHAIN_PROFILER loads it behind the recorder)")};
  }
  if (absl::StartsWith(plugin, "/") && !process.plugin_file_exists) {
    return {false, "missing_file",
            absl::StrCat(place, " names ", plugin, ", which does not exist where the process lives")};
  }
  return {false, "not_loaded",
          absl::StrCat(place,
                       " names the recorder, but NCCL has not loaded it: no communicator has been made since, "
                       "NCCL is older than 2.23 (then preload liblockstep-preload.so), or loading failed "
                       "(NCCL_DEBUG=INFO tells)")};
}

RecordingDiagnosis WithoutRing(const RecordedProcess& process) {
  if (process.rings_deleted > 0) {
    return {false, "ring_deleted", "somebody removed the ring file of this process while it was in use"};
  }
  if (!process.libraries.profiler.empty()) {
    return {false, "no_ring",
            "the profiler plugin is loaded without a ring: its directory cannot be written or is full"};
  }
  if (!process.libraries.preload.empty()) {
    return {false, "no_ring",
            "the preloaded recorder has seen no communicator: none has been made yet, the program looks NCCL's "
            "functions up by itself or has NCCL linked in, or the ring directory cannot be written"};
  }
  return {false, "no_ring",
          "the MPI recorder has no ring: MPI_Init has not returned, or its directory is not writable"};
}

RecordingDiagnosis OfRing(const RingFacts& ring) {
  if (!ring.refused.empty()) return {false, "ring_unreadable", absl::StrCat(ring.path, ": ", ring.refused), &ring};
  if (ring.state == ring::RecorderState::kDisabled) {
    return {false, "disabled", absl::StrCat("the recorder gave up: ", NameOf(ring.disabled)), &ring};
  }
  if (ring.state == ring::RecorderState::kFinalized) {
    return {false, "finalized", "the program has ended its communication; nothing more will be recorded", &ring};
  }
  if (ring.state != ring::RecorderState::kActive) {
    return {false, "initializing", "the recorder is still making its ring", &ring};
  }
  return {true, "recorded", "", &ring};
}

// How good news a ring is: recording, given up, not to be read.
int Worth(const RingFacts& ring) {
  if (!ring.refused.empty()) return 0;
  return ring.state == ring::RecorderState::kActive ? 2 : 1;
}

}  // namespace

RecordingDiagnosis Diagnose(const RecordedProcess& process) {
  const auto best = std::max_element(process.rings.begin(), process.rings.end(),
                                     [](const RingFacts& a, const RingFacts& b) { return Worth(a) < Worth(b); });
  if (best != process.rings.end()) return OfRing(*best);
  if (process.libraries.has_recorder() || process.rings_deleted > 0) return WithoutRing(process);
  if (!process.libraries.nccl.empty()) return WithoutNcclRecorder(process);
  if (!process.libraries.mpi.empty()) {
    return {false, "not_enabled", "MPI is loaded, but liblockstep-mpi.so is not: it has to be in LD_PRELOAD"};
  }
  return {false, "nothing_to_record", "neither NCCL nor MPI is loaded into this process"};
}

absl::string_view NameOf(ring::RecorderKind kind) { return FromTable(kKinds, kind); }
absl::string_view NameOf(ring::RecorderState state) { return FromTable(kStates, state); }
absl::string_view NameOf(ring::DisabledReason reason) { return FromTable(kReasons, reason); }
absl::string_view NameOf(ring::TimingQuality quality) { return FromTable(kQualities, quality); }
absl::string_view NameOfTiming(size_t quality) { return FromTable(kQualities, quality); }

double OverheadRatio(const RingFacts& ring, int64_t monotonic_ns) {
  const int64_t elapsed_ns = monotonic_ns - ring.opened_at_ns;
  if (ring.nccl.callbacks == 0 || elapsed_ns <= 0) return -1;
  return static_cast<double>(ring.nccl.callback_ns) / static_cast<double>(elapsed_ns);
}

ring::TimingQuality UsualTiming(const RingFacts& ring) {
  const auto most = std::max_element(ring.timing.begin(), ring.timing.end());
  if (*most == 0) return ring::TimingQuality::kUnknown;
  return static_cast<ring::TimingQuality>(most - ring.timing.begin());
}

}  // namespace lockstep
