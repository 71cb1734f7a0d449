// Reads fault labels: when which job was not well, header job,begin_ms,end_ms. docs/formats.md describes it.
//
// Times are of the same clock as the counters of that job; the end is exclusive and not before the begin. Columns in
// any order, unknown ones ignored.

#ifndef LOCKSTEP_FORMATS_FAULT_LABELS_READER_H_
#define LOCKSTEP_FORMATS_FAULT_LABELS_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/byte_source.h"
#include "formats/read_result.h"

namespace lockstep {

inline constexpr size_t kMaxFaultLabels = 100'000;

// Pure value; thread-compatible.
struct FaultLabel {
  std::string job;
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
};

// Appends to `labels`, up to kMaxFaultLabels in all; more are malformed rows.
ReadResult ReadFaultLabels(ByteSource& source, std::vector<FaultLabel>& labels);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_FAULT_LABELS_READER_H_
