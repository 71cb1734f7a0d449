// The agent's options and their names as settings (file, environment, flags).

#ifndef LOCKSTEP_AGENT_CONFIG_H_
#define LOCKSTEP_AGENT_CONFIG_H_

#include <string>

#include "absl/time/time.h"
#include "agent/host_places.h"
#include "agent/recorder/ring_format.h"
#include "daemon/settings.h"
#include "daemon/tls/channel_security.h"
#include "daemon/web/guarded_pages.h"

namespace lockstep {

// Plain values, valid once loaded. Thread-compatible.
struct AgentOptions {
  std::string collector_address = "127.0.0.1:7070";
  ChannelSecurity collector_security;
  std::string token_file;                              // of a token that the collector is shown besides; "" = none
  PagesOptions pages = {.address = "127.0.0.1:7072"};  // /metrics, /healthz, /readyz; no address = none
  std::string log_level = "info";
  std::string ports_file;  // where the port that is listened on is written; empty = nowhere
  std::string host_name;   // empty = the machine's
  HostPlaces places;
  std::string ring_directory = ring::kDefaultDirectory;
  std::string root = "/";
  std::string state_directory = "/run/lockstep-agent";  // in memory; empty = nothing survives a restart
  bool kernel_log = true;                               // to be read; a machine that does not show it is a failure then
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string nccl_ras_address = "localhost:28028";          // empty = do not ask
  std::string dcgm_exporter_url;                             // of its page, on this machine; empty = do not ask
  bool stacks = true;                                        // a collector may have stacks of recorded processes read
  bool kineto_endpoint = false;                              // whether processes of PyTorch may register for profiles
  std::string profile_directory = "/tmp/lockstep-profiles";  // where they write these, as they see it; else /tmp
  int64_t dynolog_port = 1778;  // of the dynolog that has the name already; 0 = do not ask it
  absl::Duration tick = absl::Seconds(1);
  absl::Duration source_deadline = absl::Milliseconds(200);
  absl::Duration drain = absl::Seconds(3);
  int64_t outbox_bytes = 8 << 20;
  absl::Duration outbox_age = absl::Minutes(10);
  std::string spool_directory;  // empty = reports are in memory only
  int64_t spool_max_bytes = 256 << 20;
  absl::Duration spool_max_age = absl::Hours(24);
  absl::Duration spool_sync = absl::Seconds(1);
};

// Binds every option, with its validator. `options` must outlive `settings`.
void AddAgentSettings(AgentOptions& options, Settings& settings);

// The settings of lockstep-agent, bound to `options`, which must outlive them.
Settings AgentSettings(AgentOptions& options);

// `configured`, or the machine's own name if that is empty.
std::string HostNameOr(const std::string& configured);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_CONFIG_H_
