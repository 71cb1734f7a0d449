#include "collector/store/series_reader.h"

#include <algorithm>
#include <optional>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/rollup.h"
#include "collector/store/values.h"

namespace lockstep {

absl::Status SeriesReader::Read(const SeriesSelector& selector, MetricKind kind, const Range& range, size_t max_series,
                                SeriesPoints& series, bool& truncated) {
  Found found;
  RETURN_IF_ERROR(ReadIndex(selector, range, max_series, series, found, truncated));
  for (const auto& [id, points] : found) {
    RETURN_IF_ERROR(ReadRollups(id, kind, range, *points));
    RETURN_IF_ERROR(ReadChunks(id, range, *points));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<int64_t>> SeriesReader::Times(const SeriesLabels& labels, int64_t from, int64_t to) {
  std::set<int64_t> times;
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, database_.Get(Family::kSeries, EncodeSeriesLabels(labels)));
  if (!bytes.has_value()) return times;
  const absl::StatusOr<IndexValue> index = DecodeIndex(*bytes);
  if (!index.ok()) return times;  // the series gets a new id, of which nothing is on disk
  std::vector<Point> points;
  RETURN_IF_ERROR(ReadChunks(index->id, {from, from, to, nullptr}, points));
  for (const Point& point : points) times.insert(point.first);
  return times;
}

absl::Status SeriesReader::ReadIndex(const SeriesSelector& selector, const Range& range, size_t max_series,
                                     SeriesPoints& series, Found& found, bool& truncated) {
  const std::string prefix = SeriesLabelsPrefix(selector.metric, selector.host);
  return database_.Scan(Family::kSeries, prefix, PrefixEnd(prefix), range.snapshot,
                        [&](absl::string_view key, absl::string_view value) {
                          absl::StatusOr<SeriesLabels> labels = DecodeSeriesLabels(key);
                          const absl::StatusOr<IndexValue> index = DecodeIndex(value);
                          if (!labels.ok() || !index.ok()) {
                            corrupt_.Count(Family::kSeries, key, labels.ok() ? index.status() : labels.status());
                            return true;
                          }
                          if (selector.device != "*" && labels->device != selector.device) return true;
                          const std::pair<std::string, std::string> name{labels->host, labels->device};
                          if (series.size() >= max_series && !series.contains(name)) {
                            truncated = true;
                            return true;
                          }
                          found.emplace_back(index->id, &series[name]);
                          return true;
                        });
}

absl::Status SeriesReader::ReadChunks(uint64_t id, const Range& range, std::vector<Point>& points) {
  const int64_t from = range.full_from;
  if (from >= range.to) return absl::OkStatus();
  return database_.Scan(Family::kChunks, TimedKeyLowerBound(id, EarlierBy(from, span_ns_)),
                        TimedKeyLowerBound(id, range.to), range.snapshot,
                        [&](absl::string_view key, absl::string_view value) {
                          const absl::StatusOr<std::vector<Point>> chunk = DecodeChunk(value);
                          if (!chunk.ok()) {
                            corrupt_.Count(Family::kChunks, key, chunk.status());
                            return true;
                          }
                          for (const Point& point : *chunk) {
                            if (point.first >= from && point.first < range.to) points.push_back(point);
                          }
                          return true;
                        });
}

// One point per roll-up at its first time: for a counter the value that was read then, for a gauge the mean.
absl::Status SeriesReader::ReadRollups(uint64_t id, MetricKind kind, const Range& range, std::vector<Point>& points) {
  const int64_t to = std::min(range.full_from, range.to);
  if (range.rollup_from >= to) return absl::OkStatus();
  return database_.Scan(Family::kRollups, TimedKeyLowerBound(id, range.rollup_from), TimedKeyLowerBound(id, to),
                        range.snapshot, [&](absl::string_view key, absl::string_view value) {
                          const absl::StatusOr<TimedKey> timed = DecodeTimedKey(key);
                          const absl::StatusOr<Rollup> rollup = DecodeRollup(value);
                          if (!timed.ok() || !rollup.ok()) {
                            corrupt_.Count(Family::kRollups, key, timed.ok() ? rollup.status() : timed.status());
                            return true;
                          }
                          const double mean = rollup->sum / rollup->count;
                          points.emplace_back(timed->first_wall_ns,
                                              kind == MetricKind::kCounter ? rollup->first : mean);
                          return true;
                        });
}

}  // namespace lockstep
