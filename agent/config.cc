#include "agent/config.h"

#include <unistd.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "daemon/http_client.h"

namespace lockstep {
namespace {

constexpr int64_t kMinOutboxBytes = 64 << 10;
constexpr int64_t kMaxOutboxBytes = 256 << 20;
constexpr int64_t kMinSpoolBytes = 32 << 20;
constexpr int64_t kMaxSpoolBytes = int64_t{64} << 30;
constexpr size_t kMaxHostNameBytes = 253;  // a DNS name
constexpr size_t kMaxProfileDirectoryBytes = 512;

// Processes resolve it, and so does the agent, without following a link or going upwards.
absl::Status CheckProfileDirectory(const std::string& path) {
  const bool is_plain = !path.empty() && path[0] == '/' && path.size() <= kMaxProfileDirectoryBytes &&
                        std::all_of(path.begin(), path.end(), absl::ascii_isgraph) &&
                        path.find("..") == std::string::npos;
  return is_plain ? absl::OkStatus()
                  : absl::InvalidArgumentError("must be an absolute path of printable characters, without \"..\"");
}

Settings::Validator Between(const absl::Duration& value, absl::Duration least, absl::Duration most) {
  return [&value, least, most] {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("must be from ", absl::FormatDuration(least), " to ",
                                                   absl::FormatDuration(most), ", found ",
                                                   absl::FormatDuration(value)));
  };
}

Settings::Validator NotEmpty(const std::string& value) {
  return [&value] { return value.empty() ? absl::InvalidArgumentError("must not be empty") : absl::OkStatus(); };
}

// Names of places stand in reports, logs and verdicts.
Settings::Validator PlaceName(const std::string& value) {
  return [&value] {
    if (value.size() > kMaxPlaceNameBytes) {
      return absl::InvalidArgumentError(absl::StrCat("is longer than ", kMaxPlaceNameBytes, " bytes"));
    }
    const bool has_control = std::any_of(value.begin(), value.end(), absl::ascii_iscntrl);
    return has_control ? absl::InvalidArgumentError("contains a control character") : absl::OkStatus();
  };
}

Settings::Validator IntegerBetween(const int64_t& value, int64_t least, int64_t most) {
  return [&value, least, most] {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("must be from ", least, " to ", most));
  };
}

void AddSpool(AgentOptions& options, Settings& settings) {
  settings.Add("spool.directory", &options.spool_directory,
               "folder on disk where reports are kept as well until they are acknowledged; empty = memory only");
  settings.Add("spool.max_bytes", &options.spool_max_bytes, "disk for such reports",
               IntegerBetween(options.spool_max_bytes, kMinSpoolBytes, kMaxSpoolBytes));
  settings.Add("spool.max_age", &options.spool_max_age, "how long such reports are kept",
               Between(options.spool_max_age, absl::Seconds(1), absl::Hours(24)));
  settings.Add("spool.sync", &options.spool_sync, "what a power failure may take of them: time between two syncs",
               Between(options.spool_sync, absl::Milliseconds(10), absl::Minutes(1)));
}

void AddSecurity(ChannelSecurity& security, Settings& settings) {
  settings.Add("tls.ca", &security.files.authorities,
               "PEM file of the authorities that sign the collector's certificate; empty = plain text");
  settings.Add("tls.certificate", &security.files.certificate, "PEM file of this agent's certificate and its chain",
               [&security] {
                 if (security.files.certificate.empty() || !security.files.authorities.empty()) return absl::OkStatus();
                 return absl::InvalidArgumentError("needs tls.ca");
               });
  settings.Add("tls.key", &security.files.key, "PEM file of its key, without a passphrase",
               [&security] { return CheckNamedTogether(security.files); });
  settings.Add("tls.server_name", &security.server_name,
               "name that the collector's certificate carries; empty = the host of collector.address");
}

void AddPlaces(HostPlaces& places, Settings& settings) {
  settings.Add("places.rack", &places.rack, "rack that this machine stands in; empty = not known",
               PlaceName(places.rack));
  settings.Add("places.leaf", &places.leaf, "switch next to this machine; empty = not known", PlaceName(places.leaf));
  settings.Add("places.power", &places.power, "power feed of this machine; empty = not known", PlaceName(places.power));
  settings.Add("places.image", &places.image, "image of the software on this machine; empty = not known",
               PlaceName(places.image));
}

}  // namespace

void AddAgentSettings(AgentOptions& options, Settings& settings) {
  settings.Add("collector.address", &options.collector_address, "host:port of the collector",
               NotEmpty(options.collector_address));
  AddSecurity(options.collector_security, settings);
  settings.Add("token_file", &options.token_file,
               "file of a token that says who this agent is, besides its certificate or instead; empty = none",
               [&options] {
                 if (options.token_file.empty() || !options.collector_security.is_plain()) return absl::OkStatus();
                 return absl::InvalidArgumentError("needs tls.ca: a token is sent over TLS only");
               });
  settings.Add("listen_address", &options.pages.address, "host:port of /metrics, /healthz and /readyz; empty = none",
               [&options] { return options.pages.address.empty() ? absl::OkStatus() : CheckPages(options.pages); });
  AddGuardSettings(options.pages, settings);
  settings.Add("log_level", &options.log_level, "least level of log lines: debug, info, warning or error", [&options] {
    return LogLevelOf(options.log_level).has_value()
               ? absl::OkStatus()
               : absl::InvalidArgumentError("must be debug, info, warning or error");
  });
  settings.Add("ports_file", &options.ports_file, "file to write the port in use to, as JSON");
  settings.Add("host_name", &options.host_name, "name of this machine in reports; empty = its own", [&options] {
    return options.host_name.size() <= kMaxHostNameBytes ? absl::OkStatus()
                                                         : absl::InvalidArgumentError("is longer than 253 bytes");
  });
  AddPlaces(options.places, settings);
  settings.Add("ring_directory", &options.ring_directory, "where recorders keep their rings",
               NotEmpty(options.ring_directory));
  settings.Add("root", &options.root, "where /proc and /sys of the watched machine are mounted",
               NotEmpty(options.root));
  settings.Add("state_directory", &options.state_directory,
               "where to keep, in memory, how far rings and kernel log were read; empty = nowhere");
  settings.Add("kernel_log", &options.kernel_log,
               "read the kernel log, which has Xids, AER, mlx5 and out-of-memory events; fails where it is not shown");
  settings.Add("nvml_library", &options.nvml_library, "name or path of NVIDIA's management library");
  settings.Add("nccl_ras_address", &options.nccl_ras_address,
               "localhost:PORT or IP:PORT of NCCL's RAS service; empty = do not ask");
  settings.Add(
      "dcgm_exporter_url", &options.dcgm_exporter_url,
      "page of a dcgm-exporter on this machine, http://127.0.0.1:9400/metrics; empty = do not ask", [&options] {
        return options.dcgm_exporter_url.empty() ? absl::OkStatus() : CheckLoopbackUrl(options.dcgm_exporter_url);
      });
  settings.Add("stacks", &options.stacks, "read stacks of recorded processes when the collector asks for them");
  settings.Add("kineto_endpoint", &options.kineto_endpoint,
               "whether processes of PyTorch (KINETO_USE_DAEMON=1) may register with this agent, in place of dynolog");
  settings.Add(
      "dynolog_port", &options.dynolog_port,
      "port of this machine at which a dynolog that has that place already is asked for profiles; 0 = it is not",
      IntegerBetween(options.dynolog_port, 0, 65'535));
  settings.Add(
      "profile_directory", &options.profile_directory,
      "folder, as a process of a job sees it, into which it writes a profile that was asked for; without it /tmp",
      [&options] { return CheckProfileDirectory(options.profile_directory); });
  settings.Add("tick", &options.tick, "time between two reports",
               Between(options.tick, absl::Milliseconds(50), absl::Minutes(1)));
  settings.Add("source_deadline", &options.source_deadline, "how long a tick waits for sources that may hang",
               Between(options.source_deadline, absl::Milliseconds(1), absl::Seconds(30)));
  settings.Add("drain", &options.drain, "how long a stopping agent waits for the last acknowledgement",
               Between(options.drain, absl::ZeroDuration(), absl::Minutes(1)));
  settings.Add("outbox.bytes", &options.outbox_bytes, "memory for reports that are not acknowledged",
               IntegerBetween(options.outbox_bytes, kMinOutboxBytes, kMaxOutboxBytes));
  settings.Add("outbox.age", &options.outbox_age, "how long such reports are kept",
               Between(options.outbox_age, absl::Seconds(1), absl::Hours(24)));
  AddSpool(options, settings);
}

Settings AgentSettings(AgentOptions& options) {
  Settings settings("lockstep-agent", "LOCKSTEP_AGENT_");
  AddAgentSettings(options, settings);
  return settings;
}

std::string HostNameOr(const std::string& configured) {
  if (!configured.empty()) return configured;
  char name[kMaxHostNameBytes + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

}  // namespace lockstep
