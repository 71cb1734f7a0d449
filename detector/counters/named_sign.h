// A sign with the names that a reader, and whoever judges what it means, needs.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_NAMED_SIGN_H_
#define LOCKSTEP_DETECTOR_COUNTERS_NAMED_SIGN_H_

#include <cstdint>
#include <string>

#include "base/metric_catalog.h"
#include "detector/counters/metric_watch.h"
#include "detector/counters/peer_group.h"

namespace lockstep {

struct NamedSign {
  std::string metric_name;
  Metric metric = Metric::kUnspecified;
  bool is_rate = false;
  bool is_soft = false;
  std::string device;
  Excursion excursion;
  int32_t peers = 0;
};

// `watch` is the one that the sign is of.
inline NamedSign NameSign(const CounterSign& sign, const MetricWatch& watch) {
  const bool soft = watch.traits().family != MetricFamily::kDevice;
  return {watch.name(), watch.metric(), watch.traits().is_rate, soft, sign.device, sign.excursion, sign.peers};
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_NAMED_SIGN_H_
