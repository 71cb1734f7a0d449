// What history takes of the disk, what of it has gone and why, and what it could not keep or decode.
//
// Labels are bounded: kinds and causes are tables of the store. Thread-safe; one thread at a time may raise a counter.

#ifndef LOCKSTEP_COLLECTOR_HISTORY_METRICS_H_
#define LOCKSTEP_COLLECTOR_HISTORY_METRICS_H_

#include <cstdint>
#include <string>

#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"

namespace lockstep {

struct HistoryMetrics {
  explicit HistoryMetrics(prometheus::Registry& registry);

  // Points that the store dropped and records that it could not decode, since it was opened.
  void SetLosses(uint64_t dropped_points, uint64_t corrupt_records);
  void SetBytes(const std::string& kind, uint64_t bytes);
  // The cause is "age", "bytes" or "disk".
  void SetRemoved(const std::string& kind, const std::string& cause, uint64_t total_bytes);

  prometheus::Family<prometheus::Counter>& losses;
  prometheus::Family<prometheus::Counter>& removed_bytes;
  prometheus::Family<prometheus::Gauge>& table_bytes;
  prometheus::Gauge& free_bytes;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_HISTORY_METRICS_H_
