// Writes a trace as ops-csv: one row per operation, rank after rank. docs/formats.md describes the columns.
//
// Everything of the trace that ops-csv has a column for survives; process states, hints, members without records and
// timing qualities do not. Memory: one block of text, and one entry per (communicator, member).

#ifndef LOCKSTEP_FORMATS_OPS_CSV_WRITER_H_
#define LOCKSTEP_FORMATS_OPS_CSV_WRITER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "detector/model/trace.h"

namespace lockstep {

// Header and rows, line by line to `append`; ends with its first error.
absl::Status WriteOpsCsv(const Trace& trace, absl::FunctionRef<absl::Status(absl::string_view)> append);

// The same into a file of its own, as FileWriter makes them: whole or not at all, compressed by the ending of `path`.
absl::Status WriteOpsCsvFile(const Trace& trace, const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_OPS_CSV_WRITER_H_
