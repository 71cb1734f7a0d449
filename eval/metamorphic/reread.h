// A recording read once more: its rows go the way that the rows of files go, in any order and as often as wanted.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_REREAD_H_
#define LOCKSTEP_EVAL_METAMORPHIC_REREAD_H_

#include "absl/status/statusor.h"
#include "base/random.h"
#include "detector/model/job_evidence.h"

namespace lockstep {

// Row by row through formats/, in the order of the recording: sorting, matching of names and counting are done anew.
// Hosts that no file named stay unnamed.
JobEvidence Reread(const JobEvidence& recording);

// The same with the rows of operations and samples in a random order, each `times` times. Log lines keep their order
// and number: a line that comes twice was written twice.
JobEvidence RereadShuffled(const JobEvidence& recording, int times, Random& random);

// The operations written as ops-csv and read back, as one file or as one per host. What ops-csv has no column for is
// lost either way.
absl::StatusOr<JobEvidence> RereadAsFiles(const JobEvidence& recording, bool one_per_host);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_REREAD_H_
