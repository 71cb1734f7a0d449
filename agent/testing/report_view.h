// What tests ask of a report.

#ifndef LOCKSTEP_AGENT_TESTING_REPORT_VIEW_H_
#define LOCKSTEP_AGENT_TESTING_REPORT_VIEW_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "base/check.h"
#include "base/metric_catalog.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The value of `metric` of `device`, or nothing. A metric given twice is a bug. Pure.
inline absl::optional<double> ValueOf(const wire::AgentReport& report, absl::string_view device, Metric metric) {
  absl::optional<double> value;
  for (const wire::MetricBlock& block : report.metrics()) {
    CHECK(block.metrics_size() == block.values_size());
    if (block.device() != device) continue;
    for (int i = 0; i < block.metrics_size(); ++i) {
      if (block.metrics(i) != static_cast<uint32_t>(metric)) continue;
      CHECK(!value.has_value());
      value = block.values(i);
    }
  }
  return value;
}

// Names of the devices that have samples.
inline std::set<std::string> DevicesOf(const wire::AgentReport& report) {
  std::set<std::string> devices;
  for (const wire::MetricBlock& block : report.metrics()) devices.insert(block.device());
  return devices;
}

// How many things were dropped for `reason`.
inline uint64_t DroppedOf(const wire::AgentReport& report, absl::string_view reason) {
  uint64_t count = 0;
  for (const wire::Dropped& dropped : report.dropped()) {
    if (dropped.reason() == reason) count += dropped.count();
  }
  return count;
}

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_TESTING_REPORT_VIEW_H_
