#include "collector/convert/fleet_sight.h"

namespace lockstep {

void FillFleetSight(const FleetSight& sight, wire::CaptureWatermark& watermark) {
  watermark.set_hosts_reporting(sight.reporting);
  watermark.set_hosts_silent(sight.silent);
}

FleetSight ToFleetSight(const wire::CaptureWatermark& watermark) {
  if (watermark.hosts_reporting() < 0 || watermark.hosts_silent() < 0) return {};
  return {.reporting = watermark.hosts_reporting(), .silent = watermark.hosts_silent()};
}

}  // namespace lockstep
