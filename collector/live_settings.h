// Which settings a running collector takes on, and how: a row each. Any other needs a restart.

#ifndef LOCKSTEP_COLLECTOR_LIVE_SETTINGS_H_
#define LOCKSTEP_COLLECTOR_LIVE_SETTINGS_H_

#include <vector>

#include "collector/alert_sinks.h"
#include "collector/collector.h"
#include "collector/collector_options.h"
#include "daemon/settings_reload.h"

namespace lockstep {

// To be applied by the main thread. All are borrowed.
std::vector<SettingsReload::Applier> LiveCollectorSettings(const CollectorOptions& renewed, Collector& collector,
                                                           AlertSinks& alerts);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_LIVE_SETTINGS_H_
