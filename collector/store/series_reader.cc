#include "collector/store/series_reader.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/record_scan.h"
#include "collector/store/rollup.h"
#include "collector/store/values.h"

namespace lockstep {

absl::Status SeriesReader::ListNames(const SeriesSelector& selector, SeriesNames& names) {
  const auto take = [&](absl::string_view key, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(const SeriesLabels labels, DecodeSeriesLabels(key));
    RETURN_IF_ERROR(DecodeIndex(value).status());
    if (selector.device == "*" || labels.device == selector.device) names.Offer(labels.host, labels.device);
    return absl::OkStatus();
  };
  const std::string prefix = SeriesLabelsPrefix(selector.metric, selector.host);
  return ScanRecords(database_, Family::kSeries, prefix, corrupt_, take);
}

absl::Status SeriesReader::Read(const SeriesLabels& labels, MetricKind kind, const Range& range, size_t max_points,
                                std::vector<Point>& points) {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> id, IdOf(labels));
  if (!id.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(ReadRollups(*id, kind, range, max_points, points));
  if (points.size() > max_points) return absl::OkStatus();  // roll-ups lie before all points
  return ReadChunks(*id, range, max_points, points);
}

absl::StatusOr<std::set<int64_t>> SeriesReader::Times(const SeriesLabels& labels, int64_t from, int64_t to) {
  std::set<int64_t> times;
  ASSIGN_OR_RETURN(const std::optional<uint64_t> id, IdOf(labels));
  if (!id.has_value()) return times;
  std::vector<Point> points;
  RETURN_IF_ERROR(ReadChunks(*id, {from, from, to, nullptr}, std::numeric_limits<size_t>::max(), points));
  for (const Point& point : points) times.insert(point.first);
  return times;
}

absl::StatusOr<std::optional<uint64_t>> SeriesReader::IdOf(const SeriesLabels& labels) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, database_.Get(Family::kSeries, EncodeSeriesLabels(labels)));
  if (!bytes.has_value()) return std::optional<uint64_t>();
  const absl::StatusOr<IndexValue> index = DecodeIndex(*bytes);
  // A series whose entry is corrupt gets a new id, of which nothing is on disk.
  return index.ok() ? std::optional<uint64_t>(index->id) : std::nullopt;
}

absl::Status SeriesReader::ReadChunks(uint64_t id, const Range& range, size_t max_points, std::vector<Point>& points) {
  const int64_t from = range.full_from;
  if (from >= range.to) return absl::OkStatus();
  std::optional<int64_t> newest_needed;
  return database_.Scan(Family::kChunks, TimedKeyLowerBound(id, EarlierBy(from, span_ns_)),
                        TimedKeyLowerBound(id, range.to), range.snapshot,
                        [&](absl::string_view key, absl::string_view value) {
                          const absl::StatusOr<TimedKey> timed = DecodeTimedKey(key);
                          const absl::StatusOr<std::vector<Point>> chunk = DecodeChunk(value);
                          if (!timed.ok() || !chunk.ok()) {
                            corrupt_.Count(Family::kChunks, key, timed.ok() ? chunk.status() : timed.status());
                            return true;
                          }
                          if (newest_needed.has_value() && timed->first_wall_ns > *newest_needed) return false;
                          for (const Point& point : *chunk) {
                            if (point.first >= from && point.first < range.to) points.push_back(point);
                          }
                          if (points.size() > max_points && !newest_needed.has_value()) {
                            newest_needed = std::max_element(points.begin(), points.end())->first;
                          }
                          return true;
                        });
}

// One point per roll-up at its first time: for a counter the value that was read then, for a gauge the mean.
absl::Status SeriesReader::ReadRollups(uint64_t id, MetricKind kind, const Range& range, size_t max_points,
                                       std::vector<Point>& points) {
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
                          return points.size() <= max_points;
                        });
}

}  // namespace lockstep
