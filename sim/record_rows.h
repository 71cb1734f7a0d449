// Where the records of a replay go: one row per rank, filled in program order.
//
// Not thread-safe.

#ifndef LOCKSTEP_SIM_RECORD_ROWS_H_
#define LOCKSTEP_SIM_RECORD_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/trace.h"
#include "sim/layout.h"

namespace lockstep {

// The records of all ranks in true time, before anybody lost or shifted any: row after row, one row per rank. A record
// that never came to be has enqueue_ns = kNoTime.
struct RecordTable {
  std::vector<TraceOperation> operations;
  std::vector<size_t> first;  // of each rank, and one past the last
};

class RecordRows {
 public:
  // Makes the rows: a rank of stage s will have at most `per_stage[s]` records. `table` must outlive this.
  RecordRows(const Layout& layout, const std::vector<size_t>& per_stage, RecordTable* table);

  // The record at `record` of the current phase of a rank of `stage`.
  TraceOperation& At(int32_t stage, int32_t rank, int32_t record) {
    return table_->operations[table_->first[rank] + used_[stage] + record];
  }

  // The current phase is over; it had so many records per rank of each stage.
  void Advance(int32_t stage, size_t records) { used_[stage] += records; }

 private:
  RecordTable* table_;
  std::vector<size_t> used_;  // by stage
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_RECORD_ROWS_H_
