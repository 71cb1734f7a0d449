// Which GPUs a query of history means, in which series they are found, and what else they are called.
//
// History knows a GPU by its host and its index there. An index may become another GPU's: of those behind one that has
// fallen off the bus, for example. So a GPU that is named by UUID or address, or by who runs on it, is one index for
// some time, and another one after that. Which and when the collector tells, as far as it knows.
//
// Thread-compatible, as the client is.

#ifndef LOCKSTEP_CLI_GPU_CHOICE_H_
#define LOCKSTEP_CLI_GPU_CHOICE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/command.h"
#include "cli/series_query.h"
#include "proto/query.pb.h"

namespace lockstep {

// An index of a host, for some time.
struct GpuSpan {
  std::string host;  // "" = of every host
  int32_t index = -1;
  int64_t from_wall_ns = 0;
  int64_t to_wall_ns = std::numeric_limits<int64_t>::max();  // exclusive
};

// The index of the GPU that a device of history is, or is an instance of; -1 = none. Pure.
int32_t GpuIndexOf(absl::string_view device);

// The GPUs that `query` names; none for a query that names none. NOT_FOUND for a GPU, job or rank that the collector
// does not know, or whose GPU it does not.
absl::StatusOr<std::vector<GpuSpan>> ChooseGpus(const SeriesQuery& query, CommandContext& context);

// Removes from `series` what is of no GPU in `spans`. Pure.
void KeepChosen(const std::vector<GpuSpan>& spans, wire::Series& series);

// The names of the GPUs of `series`, by host, index and time, as far as they had these between the two times; of those
// in `spans` alone, unless that is empty.
absl::StatusOr<std::vector<wire::Gpu>> NamesOfGpus(const std::vector<wire::Series>& series,
                                                   const std::vector<GpuSpan>& spans, int64_t from_wall_ns,
                                                   int64_t to_wall_ns, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_GPU_CHOICE_H_
