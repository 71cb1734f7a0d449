// What the name of a trace file tells of its origin. Pure.

#ifndef LOCKSTEP_FORMATS_FILE_NAME_H_
#define LOCKSTEP_FORMATS_FILE_NAME_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// The number after "rank" ("rank12.json", "trace_rank-3_step7.json.gz"); -1 = none. Folders do not count.
int32_t RankInFileName(absl::string_view path);

// As above, or else the last number of the name ("_dump_14").
int32_t RankAtEndOfFileName(absl::string_view path);

// The host in the names of PyTorch's TensorBoard handler, HOST_PID.TIME.pt.trace.json; "" = none.
std::string HostInFileName(absl::string_view path);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_FILE_NAME_H_
