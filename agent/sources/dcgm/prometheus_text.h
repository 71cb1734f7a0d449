// The samples of a page in Prometheus' text format, one after the other.
//
// The page is untrusted: a line that is no sample is passed over and counted, and nothing of it is believed. Comments,
// which hold types and help, say nothing here. Pure; copies only values of labels with escapes.

#ifndef LOCKSTEP_AGENT_SOURCES_DCGM_PROMETHEUS_TEXT_H_
#define LOCKSTEP_AGENT_SOURCES_DCGM_PROMETHEUS_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep {

// Exporters have a dozen.
inline constexpr size_t kMaxPrometheusLabels = 64;

struct PrometheusSample {
  absl::string_view name;
  std::vector<std::pair<absl::string_view, std::string>> labels;  // as they stand there; names may repeat
  double value = 0;                                               // NaN and infinities too

  // The first of that name; "" = none.
  absl::string_view Label(absl::string_view label) const;
};

// Takes lines off the front of `text` up to and with the next sample; false = there is none any more. `malformed` is
// raised by the lines that are neither samples, comments nor empty. A time stamp is read and ignored.
bool TakePrometheusSample(absl::string_view& text, PrometheusSample& sample, uint64_t& malformed);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_DCGM_PROMETHEUS_TEXT_H_
