// How each GPU metric is read.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_NVML_READERS_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_NVML_READERS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/metric_block.h"
#include "agent/sources/nvml/nvml_api.h"

namespace lockstep {

// How often something is read, by what it costs.
enum class NvmlCadence {
  kEveryTick,
  kSlow,  // changes rarely or takes many calls
  kTurn,  // the library measures for tens of milliseconds: one GPU per tick
};

// One row: something that one or a few calls answer together. Immutable.
struct NvmlReader {
  absl::string_view what;  // for errors
  NvmlCadence cadence;
  // Adds what the library says to `block` and returns its code, kNvmlFunctionNotFound if it lacks the function.
  int (*read)(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block);
};

absl::Span<const NvmlReader> NvmlReaders();

// Used and total memory, of a GPU or of a MIG instance.
int ReadNvmlMemory(const NvmlApi& api, NvmlDevice device, MetricBlockBuilder& block);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_NVML_READERS_H_
