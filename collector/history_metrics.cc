#include "collector/history_metrics.h"

namespace lockstep {
namespace {

void RaiseTo(prometheus::Counter& counter, uint64_t total) {
  counter.Increment(static_cast<double>(total) - counter.Value());
}

}  // namespace

HistoryMetrics::HistoryMetrics(prometheus::Registry& registry)
    : losses(prometheus::BuildCounter()
                 .Name("lockstep_collector_store_losses_total")
                 .Help("Samples that history dropped and records that it could not decode.")
                 .Register(registry)),
      removed_bytes(prometheus::BuildCounter()
                        .Name("lockstep_collector_history_removed_bytes_total")
                        .Help("Bytes of history that were removed, by kind and cause: age, bytes or disk.")
                        .Register(registry)),
      table_bytes(prometheus::BuildGauge()
                      .Name("lockstep_collector_history_bytes")
                      .Help("Bytes of history on disk, by kind.")
                      .Register(registry)),
      free_bytes(prometheus::BuildGauge()
                     .Name("lockstep_collector_disk_free_bytes")
                     .Help("Free space of the disk that history is on; 0 = not known yet.")
                     .Register(registry)
                     .Add({})) {}

void HistoryMetrics::SetLosses(uint64_t dropped_points, uint64_t corrupt_records) {
  RaiseTo(losses.Add({{"what", "dropped_point"}}), dropped_points);
  RaiseTo(losses.Add({{"what", "corrupt_record"}}), corrupt_records);
}

void HistoryMetrics::SetBytes(const std::string& kind, uint64_t bytes) {
  table_bytes.Add({{"kind", kind}}).Set(static_cast<double>(bytes));
}

void HistoryMetrics::SetRemoved(const std::string& kind, const std::string& cause, uint64_t total_bytes) {
  RaiseTo(removed_bytes.Add({{"kind", kind}, {"cause", cause}}), total_bytes);
}

}  // namespace lockstep
