// How the fleet does beside a job, to and from watermarks of the log. Pure functions; thread-safe.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_FLEET_SIGHT_H_
#define LOCKSTEP_COLLECTOR_CONVERT_FLEET_SIGHT_H_

#include "detector/model/fleet_sight.h"
#include "proto/capture.pb.h"

namespace lockstep {

void FillFleetSight(const FleetSight& sight, wire::CaptureWatermark& watermark);

// Of a watermark without it, as older collectors wrote them: that nobody looked. So of one with impossible numbers.
FleetSight ToFleetSight(const wire::CaptureWatermark& watermark);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_FLEET_SIGHT_H_
