#include "agent/live_settings.h"

#include "absl/status/status.h"
#include "base/log.h"

namespace lockstep {

std::vector<SettingsReload::Applier> LiveAgentSettings(const AgentOptions& renewed, AgentOptions& in_force,
                                                       Agent& agent) {
  return {
      {{"log_level"}, [&renewed] { return SetLogThreshold(renewed.log_level); }},
      {{"tick"},
       [&renewed, &agent] {
         agent.SetTick(renewed.tick);
         return absl::OkStatus();
       }},
      {{"source_deadline"},
       [&renewed, &agent] {
         agent.SetSourceDeadline(renewed.source_deadline);
         return absl::OkStatus();
       }},
      {{"drain"},
       [&renewed, &in_force] {
         in_force.drain = renewed.drain;
         return absl::OkStatus();
       }},
  };
}

}  // namespace lockstep
