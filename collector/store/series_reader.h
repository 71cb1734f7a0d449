// Points of series that are on disk: in full resolution, and as roll-ups where that has expired.
//
// Records that do not decode are skipped and counted. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_SERIES_READER_H_
#define LOCKSTEP_COLLECTOR_STORE_SERIES_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/metric_catalog.h"
#include "collector/store/chunk.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"
#include "collector/store/series_names.h"

namespace lockstep {

class SeriesReader {
 public:
  // No chunk spans more than `span_ns`. References are borrowed.
  SeriesReader(int64_t span_ns, RocksDatabase& database, CorruptRecords& corrupt)
      : span_ns_(span_ns), database_(database), corrupt_(corrupt) {}

  // Offers the names of all series that are selected.
  absl::Status ListNames(const SeriesSelector& selector, SeriesNames& names);

  // What to read: roll-ups from `rollup_from` on, points from `full_from` on, as of `snapshot` (nullptr = now).
  struct Range {
    int64_t rollup_from;
    int64_t full_from;
    int64_t to;  // exclusive
    const rocksdb::Snapshot* snapshot;
  };

  // Adds the points of one series to `points`, not sorted. Once there are more than `max_points`, only those are added
  // that may lie before the newest of them: the span of a chunk at most.
  absl::Status Read(const SeriesLabels& labels, MetricKind kind, const Range& range, size_t max_points,
                    std::vector<Point>& points);

  // When the points of one series within [from, to) were taken.
  absl::StatusOr<std::set<int64_t>> Times(const SeriesLabels& labels, int64_t from, int64_t to);

 private:
  // The id of the series; empty if nothing of it is on disk.
  absl::StatusOr<std::optional<uint64_t>> IdOf(const SeriesLabels& labels);
  absl::Status ReadChunks(uint64_t id, const Range& range, size_t max_points, std::vector<Point>& points);
  absl::Status ReadRollups(uint64_t id, MetricKind kind, const Range& range, size_t max_points,
                           std::vector<Point>& points);

  const int64_t span_ns_;
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_SERIES_READER_H_
