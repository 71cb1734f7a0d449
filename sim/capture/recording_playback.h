// How a recording is played: from files of any origin to agents that report what these files hold.
//
// Clocks of different hosts are not comparable, so hosts are aligned by the operations that they left together
// (sim/capture/host_alignment.h): good enough for agents that report once per second. Hosts that no chain of operations
// connects begin together. Samples share the clock of the operations where the two overlap in
// time; elsewhere the oldest sample is taken for the beginning of the job.
//
// Records that end tell a hang from a job under way only to a judge, so the caller says whether the job stands still at
// their end: then it is played on for as long as it stood when it was read, kLeastTicksStanding to kMostTicksStanding,
// so that whoever waits before calling something a hang has seen enough. Any other ends in order, after the moment at
// which it was read where it says so, but not later than that. Where most ranks say when they were read, a host of
// which none does fell silent after its last record. A process that was dead when it was read died after its last
// record. Pure; thread-safe. Cost O(operations + samples).

#ifndef LOCKSTEP_SIM_CAPTURE_RECORDING_PLAYBACK_H_
#define LOCKSTEP_SIM_CAPTURE_RECORDING_PLAYBACK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "detector/model/job_evidence.h"
#include "sim/capture/playback.h"

namespace lockstep {

// Twice what the daemon waits where it does not know steps; half as much again as where it knows of hardly anything.
inline constexpr int32_t kLeastTicksStanding = 60;
inline constexpr int32_t kMostTicksStanding = 180;

// Beyond it some clock in the recording is wrong, and nobody would wait for the end.
inline constexpr int64_t kMaxPlayedNanos = int64_t{31} * 86'400 * 1'000'000'000;

// `job` empty = as the recording calls it. `stands` = `lockstep diagnose` calls its end a hang. DATA_LOSS when there is
// nothing to play, or more than kMaxPlayedNanos. `evidence` must outlive the playback.
absl::StatusOr<Playback> PlanRecording(const JobEvidence& evidence, const std::string& job, bool stands);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_RECORDING_PLAYBACK_H_
