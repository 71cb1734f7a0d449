// Points of series that are on disk: in full resolution, and as roll-ups where that has expired.
//
// Records that do not decode are skipped and counted. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_SERIES_READER_H_
#define LOCKSTEP_COLLECTOR_STORE_SERIES_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/metric_catalog.h"
#include "collector/store/chunk.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"

namespace lockstep {

// By host and device.
using SeriesPoints = std::map<std::pair<std::string, std::string>, std::vector<Point>>;

class SeriesReader {
 public:
  // No chunk spans more than `span_ns`. References are borrowed.
  SeriesReader(int64_t span_ns, RocksDatabase& database, CorruptRecords& corrupt)
      : span_ns_(span_ns), database_(database), corrupt_(corrupt) {}

  // What to read: roll-ups from `rollup_from` on, points from `full_from` on, as of `snapshot` (nullptr = now).
  struct Range {
    int64_t rollup_from;
    int64_t full_from;
    int64_t to;  // exclusive
    const rocksdb::Snapshot* snapshot;
  };

  // Adds what is selected to `series`, which grows to `max_series` at most; sets `truncated` if there was more.
  absl::Status Read(const SeriesSelector& selector, MetricKind kind, const Range& range, size_t max_series,
                    SeriesPoints& series, bool& truncated);

  // When the points of one series within [from, to) were taken.
  absl::StatusOr<std::set<int64_t>> Times(const SeriesLabels& labels, int64_t from, int64_t to);

 private:
  using Found = std::vector<std::pair<uint64_t, std::vector<Point>*>>;  // id, and where its points go

  absl::Status ReadIndex(const SeriesSelector& selector, const Range& range, size_t max_series, SeriesPoints& series,
                         Found& found, bool& truncated);
  absl::Status ReadChunks(uint64_t id, const Range& range, std::vector<Point>& points);
  absl::Status ReadRollups(uint64_t id, MetricKind kind, const Range& range, std::vector<Point>& points);

  const int64_t span_ns_;
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_SERIES_READER_H_
