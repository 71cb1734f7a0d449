// From what is seen of a process to a plain answer: is it being recorded, and if not, why not and what to do.
//
// Pure.

#ifndef LOCKSTEP_CLI_DOCTOR_DIAGNOSIS_H_
#define LOCKSTEP_CLI_DOCTOR_DIAGNOSIS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/recorder/ring_format.h"
#include "cli/doctor/recorded_process.h"

namespace lockstep {

struct RecordingDiagnosis {
  bool is_recorded = false;
  // "no_recorder", "disabled", ...: for scripts, from docs/cli.md. "recorded" when all is well.
  const char* cause = "recorded";
  std::string text;                 // one sentence for people; "" when all is well
  const RingFacts* ring = nullptr;  // the one that counts: recording, else the first readable; part of the process
};

// A process that neither communicates nor has a recorder is "nothing_to_record".
RecordingDiagnosis Diagnose(const RecordedProcess& process);

// Words for numbers of the ring; "unknown" for those of a newer recorder.
absl::string_view NameOf(ring::RecorderKind kind);
absl::string_view NameOf(ring::RecorderState state);
absl::string_view NameOf(ring::DisabledReason reason);
absl::string_view NameOf(ring::TimingQuality quality);
absl::string_view NameOfTiming(size_t quality);  // index of RingFacts::timing

// The share of one CPU core that recording took since the start, by the recorder's own measure. Negative = not known.
double OverheadRatio(const RingFacts& ring, int64_t monotonic_ns);

// The quality of most operations in the ring; kUnknown when there is none.
ring::TimingQuality UsualTiming(const RingFacts& ring);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_DOCTOR_DIAGNOSIS_H_
