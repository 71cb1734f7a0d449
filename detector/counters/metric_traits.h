// What a comparison of machines has to know of a metric: how fine a difference is worth speaking of, and whose it is.
//
// A metric that the catalogue does not know is of unknown unit and is trusted as little as a soft one: a counter if its
// name ends in _total, as Prometheus' convention has it, else a gauge.
// Immutable; thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_METRIC_TRAITS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_METRIC_TRAITS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/metric_catalog.h"

namespace lockstep {

enum class MetricFamily : uint8_t {
  // Work of GPUs, NICs and what joins them. On an idle or strangled device nothing else lowers it: one such metric
  // suffices.
  kDevice,
  // Load of the host's own resources. Backups, log rotation and system daemons move it on healthy machines: it needs a
  // witness.
  kSoft,
  // Not compared: totals, limits and capacities, states with a rule of their own.
  kIgnored,
};

// What a metric says about the work of its unit. More than the peers have is an uneven load and no fault.
enum class WorkKind : uint8_t {
  kNone,
  kEffort,   // what the work takes: a strangled unit puts less into as much of it
  kAmount,   // how much is done in a step: less is less to do, unless it degrades the job
  kTraffic,  // an amount that comes in bursts, which sampling cuts anywhere
};

// Whether it only grows, until it wraps or is reset, and is compared by its rate.
bool CountsUp(Metric metric, absl::string_view name);

struct MetricTraits {
  MetricFamily family = MetricFamily::kSoft;
  bool is_rate = false;
  // Of the job: a job in trouble shows in the median of it over all machines.
  bool is_activity = false;
  bool is_heat = false;  // a temperature of a device: soft, since it follows the room as well
  // CPU, pressure and disks of the host: what it does less of degrades nobody.
  bool is_host_load = false;
  // Counts errors, waits or pauses of a device: fewer of them are never a sign of a fault.
  bool counts_trouble = false;
  WorkKind work = WorkKind::kNone;
  bool is_work() const { return work != WorkKind::kNone; }
  double relative_resolution = 0.02;  // of the level: machines of one model are no more alike than this
  double absolute_resolution = 0;     // in the metric's unit; of a rate: see ResolutionOf
  double whole_resolution = 0;        // the same of a gauge without a unit, while all its values are whole numbers
};

MetricTraits TraitsOf(Metric metric, absl::string_view name);

// Differences below this are none, at this level and for values taken over `tick_seconds`. Of a counter at least half
// an event per tick, so that rare single errors never look like a rate.
double ResolutionOf(const MetricTraits& traits, double level, double tick_seconds);

// "PFC", "DCGM profiling", ...: the groups of metrics whose absence a verdict has to mention, and a test whether a
// metric belongs to one.
struct MetricArea {
  const char* name;
  bool (*holds)(Metric metric);
};
absl::Span<const MetricArea> MetricAreas();

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_METRIC_TRAITS_H_
