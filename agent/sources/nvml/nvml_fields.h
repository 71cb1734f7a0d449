// What NVML answers by numbered fields, several in one call: of all links of a GPU at once, however many it has.

#ifndef LOCKSTEP_AGENT_SOURCES_NVML_NVML_FIELDS_H_
#define LOCKSTEP_AGENT_SOURCES_NVML_NVML_FIELDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "agent/metric_block.h"
#include "agent/sources/nvml/nvml_api.h"
#include "base/metric_catalog.h"

namespace lockstep {

// The sum of `fields` that the library answers, times `scale`. Rows of one metric follow each other, the better first:
// GPUs know different fields. Immutable.
struct NvmlFieldRow {
  Metric metric;
  double scale;
  uint32_t scope;  // of the fields; 0 where they have none
  uint32_t fields[2];
  size_t field_count;
  bool zero_is_absent = false;  // a GPU without the sensor says 0
};

// At most so many fields in the rows of one call: as many as there are of NVLink's errors.
inline constexpr size_t kMaxNvmlFields = 11;

absl::Span<const NvmlFieldRow> MemoryTemperatureFields();
absl::Span<const NvmlFieldRow> NvlinkErrorFields();
absl::Span<const NvmlFieldRow> NvlinkThroughputFields();
absl::Span<const NvmlFieldRow> ViolationFields();

// Adds to `block` what is answered of `rows`, with one call. kNvmlNotSupported = nothing is; kNvmlFunctionNotFound from
// a library without fields.
int ReadFields(const NvmlApi& api, NvmlDevice device, absl::Span<const NvmlFieldRow> rows, MetricBlockBuilder& block);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NVML_NVML_FIELDS_H_
