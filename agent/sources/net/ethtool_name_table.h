// Which statistic of which driver is which metric of ours.

#ifndef LOCKSTEP_AGENT_SOURCES_NET_ETHTOOL_NAME_TABLE_H_
#define LOCKSTEP_AGENT_SOURCES_NET_ETHTOOL_NAME_TABLE_H_

#include "absl/strings/string_view.h"
#include "base/metric_catalog.h"

namespace lockstep {

// The metric that the statistic called `name` is a part of (the parts are added up), or kUnspecified. Pure.
Metric MetricOfEthtoolName(absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_NET_ETHTOOL_NAME_TABLE_H_
