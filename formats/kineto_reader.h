// Reads a PyTorch/Kineto Chrome trace of one rank: its NCCL kernels become operations, and all of its functions the
// patterns of the rank (kineto_profile.h). docs/formats.md lists the fields.
//
// The event array is streamed and only events with a duration are parsed. The rank is distributedInfo.rank, or the
// number after "rank" in the file's name. Kernels that do not say to which process group they belong are kept in a
// communicator of their rank and stream alone: nobody can be compared with them, and a note says so.
//
// Sequence numbers are those of the trace, or counted per communicator from the start of the trace.
//
// Memory: 16 bytes per kernel launch, up to kMaxLaunches, the NCCL kernels, and what a profile takes.

#ifndef LOCKSTEP_FORMATS_KINETO_READER_H_
#define LOCKSTEP_FORMATS_KINETO_READER_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/read_result.h"

namespace lockstep {

inline constexpr size_t kMaxLaunches = size_t{32} << 20;
inline constexpr size_t kMaxKernels = size_t{8} << 20;  // NCCL kernels of one file

// `path` is where the name of the file may say the rank or host. A file that is cut short gives what precedes the cut.
ReadResult ReadKineto(absl::string_view path, ByteSource& source, JobIndex job, EvidenceBuilder& builder);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_KINETO_READER_H_
