#include "sim/record_rows.h"

namespace lockstep {

RecordRows::RecordRows(const Layout& layout, const std::vector<size_t>& per_stage, RecordTable* table)
    : table_(table), used_(layout.stages(), 0) {
  table->first.resize(layout.ranks() + 1);
  size_t total = 0;
  for (int32_t r = 0; r < layout.ranks(); ++r) {
    table->first[r] = total;
    total += per_stage[layout.StageOf(r)];
  }
  table->first[layout.ranks()] = total;
  table->operations.assign(total, TraceOperation{});
}

}  // namespace lockstep
