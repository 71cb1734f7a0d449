// What the name of a job says of where it comes from.
//
// Recorder and agent make up names where nobody has chosen one (agent/recorder/job_identity.h,
// agent/sources/rings/job_fingerprint.h). Only such a name may be the name of a part of a job: what a user or a batch
// system has chosen means what it says. Pure.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_JOB_NAME_H_
#define LOCKSTEP_COLLECTOR_CONVERT_JOB_NAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {

// By rising strength.
enum class JobNameKind {
  kNone,         // "", or what release 0.1.0 calls every torchrun job without a name
  kFingerprint,  // of a communicator
  kPlace,        // where the processes meet: each node may call it otherwise
  kChosen,
};

JobNameKind KindOfJobName(absl::string_view job);

// The communicator that a name of the kind kFingerprint names; nothing for others.
absl::optional<uint64_t> CommunicatorOfJobName(absl::string_view job);

// A name of the kind kFingerprint; `name_space` of the pods of the job, "" = none, or not known.
std::string FingerprintJobName(absl::string_view name_space, uint64_t communicator);

// A made-up name that somebody else's job has already: "NAME@NAMESPACE", else "NAME@uid1001"; "" = neither is known
// (uid < 0). Its kind is that of `name`.
std::string JobNameOfOwner(absl::string_view name, absl::string_view name_space, int64_t uid);

// The run at a meeting place that began at `wall_ns`: "torch-node-1:29500-20260102T030405Z". Its kind is that of
// `place`.
std::string JobNameOfRun(absl::string_view place, int64_t wall_ns);

// The name without its run and its owner.
absl::string_view PlaceOfJobName(absl::string_view job);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_JOB_NAME_H_
