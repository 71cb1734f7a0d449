// Which settings a running collector takes on, and how: a row each. Any other needs a restart.

#ifndef LOCKSTEP_COLLECTOR_LIVE_SETTINGS_H_
#define LOCKSTEP_COLLECTOR_LIVE_SETTINGS_H_

#include <vector>

#include "collector/collector_options.h"
#include "daemon/settings_reload.h"

namespace lockstep {

// To be applied by the main thread. Reads `renewed`, which is borrowed.
std::vector<SettingsReload::Applier> LiveCollectorSettings(const CollectorOptions& renewed);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_LIVE_SETTINGS_H_
