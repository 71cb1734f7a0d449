#include "collector/store/series_page.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"

namespace lockstep {
namespace {

// Cuts `points`, which are by time, behind the first `max` and those of the same moment. The time of the first point
// that goes.
std::optional<int64_t> CutPoints(std::vector<Point>& points, size_t max) {
  if (points.size() <= max) return std::nullopt;
  const int64_t last = points[max - 1].first;
  const auto rest = std::find_if(points.begin() + static_cast<std::ptrdiff_t>(max), points.end(),
                                 [&](const Point& point) { return point.first != last; });
  if (rest == points.end()) return std::nullopt;
  const int64_t cut = rest->first;
  points.erase(rest, points.end());
  return cut;
}

}  // namespace

SeriesNames NamesOfPage(const SeriesSelector& selector, const SeriesLimits& limits) {
  const SeriesCursor first = selector.resume.value_or(SeriesCursor());
  return SeriesNames({first.host, first.device}, limits.max_series + 1);
}

absl::StatusOr<SeriesPage> FillPage(const SeriesSelector& selector, const SeriesLimits& limits,
                                    const SeriesNames& names, const ReadOneSeries& read) {
  SeriesPage page;
  size_t points_left = limits.max_points;
  size_t series_left = limits.max_series;
  for (const auto& [host, device] : names.names()) {
    int64_t from = selector.from_wall_ns;
    if (selector.resume.has_value() && host == selector.resume->host && device == selector.resume->device) {
      from = std::max(from, selector.resume->wall_ns);
    }
    if (series_left == 0 || points_left == 0) {
      page.next = SeriesCursor{host, device, from};
      return page;
    }
    --series_left;
    ASSIGN_OR_RETURN(std::vector<Point> points, read(host, device, from, points_left));
    const std::optional<int64_t> cut = CutPoints(points, points_left);
    points_left -= std::min(points_left, points.size());
    if (!points.empty()) page.ranges.push_back({host, device, std::move(points)});
    if (cut.has_value()) {
      page.next = SeriesCursor{host, device, *cut};
      return page;
    }
  }
  return page;
}

}  // namespace lockstep
