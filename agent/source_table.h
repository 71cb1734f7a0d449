// The table of sources: adding one is a folder under agent/sources and a row here.

#ifndef LOCKSTEP_AGENT_SOURCE_TABLE_H_
#define LOCKSTEP_AGENT_SOURCE_TABLE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/gpu_names.h"
#include "agent/kernel_xids.h"
#include "agent/source.h"

namespace lockstep {

// What a source may need to know about where it runs.
struct SourceOptions {
  std::string root = "/";                            // of the file system that is looked at
  bool kernel_log = true;                            // it is to be read
  std::string nvml_library = "libnvidia-ml.so.1";    // name or path for dlopen
  std::string nccl_ras_address = "localhost:28028";  // of NCCL's RAS service; empty = do not ask
  std::string dcgm_exporter_url;                     // page of a dcgm-exporter on this machine; empty = do not ask
  std::shared_ptr<GpuNames> gpu_names = std::make_shared<GpuNames>();  // hears of the machine's GPUs
  // Of the sources among themselves.
  std::shared_ptr<KernelXids> kernel_xids = std::make_shared<KernelXids>();
};

// One source: how it is made and whether it needs a thread of its own. Immutable.
struct SourceRow {
  absl::string_view name;
  bool may_hang;
  absl::StatusOr<std::unique_ptr<Source>> (*create)(const SourceOptions& options);
};

// The sources that need nothing but SourceOptions, in the order of their cost. Recorder rings, which share state with
// the rest of the agent, are added to the runner by the agent itself.
absl::Span<const SourceRow> SourceTable();

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCE_TABLE_H_
