// GPUs by all of their names, as `hosts gpus` and `history` show them. Pure.

#ifndef LOCKSTEP_CLI_RENDER_GPU_TABLE_H_
#define LOCKSTEP_CLI_RENDER_GPU_TABLE_H_

#include <string>
#include <vector>

#include "cli/render/text_table.h"
#include "proto/query.pb.h"

namespace lockstep {

// A row for each; from and until when it had its index where that is not always.
TextTable GpuTable(const std::vector<wire::Gpu>& gpus);

// A line for each index that has become another of `gpus`, which are by host, index and time: since when, and whose all
// before that is. "" = none has.
std::string GpuChangesText(const std::vector<wire::Gpu>& gpus);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_GPU_TABLE_H_
