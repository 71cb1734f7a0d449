// The query language of `lockstep history`: a metric and which hosts, devices and GPUs of it.
//
//   host_cpu_busy_ratio
//   ib_symbol_errors_total{host="node-17",device=~"mlx5_*"}
//   gpu_power_watts{gpu="GPU-5e3f..."}
//   gpu_power_watts{job="train",rank="17"}
//
// Labels are `host` and `device` ("" is the host itself). Operators: = and != compare exactly, =~ and !~ match a glob
// in which * stands for any text and ? for one character. `gpu` names a GPU by index, UUID or PCI address, `job` and
// `rank` those on which they run, each with = alone; what these are on which host the collector knows.
//
// Errors: INVALID_ARGUMENT whose message shows the query with a mark under the offending position.

#ifndef LOCKSTEP_CLI_SERIES_QUERY_H_
#define LOCKSTEP_CLI_SERIES_QUERY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

enum class MatchOperator { kEqual, kNotEqual, kGlob, kNotGlob };

struct LabelMatcher {
  std::string label;  // host or device
  MatchOperator match = MatchOperator::kEqual;
  std::string pattern;

  bool Matches(absl::string_view value) const;
};

// Immutable once parsed.
struct SeriesQuery {
  std::string metric;  // a name of base/metric_catalog.h
  std::vector<LabelMatcher> matchers;
  std::optional<std::string> gpu;  // "gpu3", "3", a UUID or a PCI address
  std::optional<std::string> job;  // never with `gpu`
  std::optional<int32_t> rank;     // never without `job`

  // As far as host and device go.
  bool Matches(absl::string_view host, absl::string_view device) const;

  // The value that `label` must equal, to let the collector do the choosing; nullopt when several may match.
  std::optional<std::string> ExactValue(absl::string_view label) const;
};

// Pure.
absl::StatusOr<SeriesQuery> ParseSeriesQuery(absl::string_view text);

// Whether `pattern` with * and ? matches all of `text`. O(pattern x text). Pure.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_SERIES_QUERY_H_
