// One page of an answer about series: as many points as the limits allow, and where the next page begins.
//
// Stores differ in where they read a series from and share how pages are cut. Pure but for what `read` does.

#ifndef LOCKSTEP_COLLECTOR_STORE_SERIES_PAGE_H_
#define LOCKSTEP_COLLECTOR_STORE_SERIES_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/chunk.h"
#include "collector/store/history_store.h"
#include "collector/store/series_names.h"

namespace lockstep {

// The points of one series from `from_wall_ns` to the end of what is selected, by time. If there are more than
// `max_points`, the first of them and at least one more.
using ReadOneSeries = std::function<absl::StatusOr<std::vector<Point>>(
    const std::string& host, const std::string& device, int64_t from_wall_ns, size_t max_points)>;

// The names that can be on the page: those from where it resumes, and one more than it holds.
SeriesNames NamesOfPage(const SeriesSelector& selector, const SeriesLimits& limits);

// Errors are those of `read`.
absl::StatusOr<SeriesPage> FillPage(const SeriesSelector& selector, const SeriesLimits& limits,
                                    const SeriesNames& names, const ReadOneSeries& read);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_SERIES_PAGE_H_
