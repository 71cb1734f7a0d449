// What widespread exporters call the metrics of our catalogue: NVIDIA's dcgm-exporter and Prometheus' node_exporter.
//
// Histories taken from a Prometheus server carry these names and units. Pure.

#ifndef LOCKSTEP_FORMATS_EXPORTER_NAMES_H_
#define LOCKSTEP_FORMATS_EXPORTER_NAMES_H_

#include "absl/strings/string_view.h"

namespace lockstep {

struct ExporterName {
  absl::string_view theirs;
  absl::string_view ours;  // in base/metric_catalog
  double factor;           // from their unit to ours
};

// nullptr = not known. In the order of `theirs`: O(log n).
const ExporterName* FindExporterName(absl::string_view theirs);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_EXPORTER_NAMES_H_
