#include "collector/live_settings.h"

#include "base/log.h"

namespace lockstep {

std::vector<SettingsReload::Applier> LiveCollectorSettings(const CollectorOptions& renewed) {
  return {
      {{"log_level"}, [&renewed] { return SetLogThreshold(renewed.log_level); }},
  };
}

}  // namespace lockstep
