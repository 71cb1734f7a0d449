#include "collector/hook/incident_hook.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "collector/access/valid_text.h"
#include "collector/alert/change_role.h"
#include "collector/hook/hook_input.h"
#include "collector/incident/incident_state.h"
#include "daemon/child_process.h"

namespace lockstep {
namespace {

constexpr char kRunAction[] = "run_hook";
constexpr char kEndAction[] = "hook_ended";
constexpr char kRefusedCall[] = "refused_call";
constexpr char kBy[] = "hook";
// Records of changes that the audit surely keeps, be each as long as may be: of more, runs may have been pushed out.
constexpr size_t kSurelyKept = 1'000;
constexpr const char* kUsualEnvironment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                             "LANG=C.UTF-8"};
constexpr const char* kOutcomes[] = {"ok",        "failed",      "timed_out",      "dry_run", "over",
                                     "run_limit", "share_limit", "not_remembered", "refused", "dropped"};

// "7 node-1 node-2": what the audit says of a run, and what is read back from it.
std::string SubjectOf(uint64_t incident, const std::vector<std::string>& hosts) {
  return absl::StrCat(incident, hosts.empty() ? "" : " ", absl::StrJoin(hosts, " "));
}

std::vector<std::string> HostsIn(const std::string& subject) {
  std::vector<std::string> words = absl::StrSplit(subject, ' ');
  words.erase(words.begin());
  return words;
}

std::vector<std::string> EnvironmentOf(const HookSpec& spec) {
  std::vector<std::string> environment = spec.environment;
  for (const char* usual : kUsualEnvironment) {
    const absl::string_view name = absl::string_view(usual).substr(0, absl::string_view(usual).find('=') + 1);
    const bool is_given = std::any_of(spec.environment.begin(), spec.environment.end(),
                                      [name](const std::string& given) { return absl::StartsWith(given, name); });
    if (!is_given) environment.emplace_back(usual);
  }
  return environment;
}

// Where the hosts do not fit into a record, the ration would not know of them after a restart.
bool CanBeRemembered(uint64_t incident, const std::vector<std::string>& hosts) {
  const bool are_words = std::none_of(hosts.begin(), hosts.end(),
                                      [](const std::string& host) { return host.find(' ') != std::string::npos; });
  return hosts.size() <= IncidentHook::kMaxHosts && are_words &&
         SubjectOf(incident, hosts).size() <= AuditLog::kMaxFieldBytes;
}

}  // namespace

IncidentHook::IncidentHook(const Parts& parts)
    : parts_(parts),
      outcomes_(prometheus::BuildCounter()
                    .Name("lockstep_collector_hook_total")
                    .Help("Incidents that fitted the hook, by what became of them.")
                    .Register(parts.registry)),
      enabled_(prometheus::BuildGauge()
                   .Name("lockstep_collector_hook_enabled")
                   .Help("1 = incidents run the hook's program; 0 = it only says what it would run, or there is none.")
                   .Register(parts.registry)
                   .Add({})),
      hosts_acted_on_(prometheus::BuildGauge()
                          .Name("lockstep_collector_hook_hosts")
                          .Help("Hosts that the hook's program was run for within a day.")
                          .Register(parts.registry)
                          .Add({})) {
  for (const char* outcome : kOutcomes) outcomes_.Add({{"outcome", outcome}});
  thread_ = std::thread([this] { Run(); });
}

IncidentHook::~IncidentHook() { Close(); }

void IncidentHook::SetRoutes(const AlertRoutes& routes) {
  MutexLock lock(mutex_);
  spec_ = routes.hook;
  links_ = routes.links;
  enabled_.Set(!spec_.command.empty() && spec_.run ? 1 : 0);
}

void IncidentHook::Announce(const IncidentEvent& event) {
  parts_.next.Announce(event);
  if (!event.is_for_receivers() || ChangeRoleOf(event.kind) != ChangeRole::kBegins) return;
  MutexLock lock(mutex_);
  if (HookMatchFor(spec_, event.incident) == nullptr) return;
  if (waiting_.size() >= kMaxWaiting) return Count("dropped");
  waiting_.push_back(event.incident.id());
  changed_.NotifyOne();
}

void IncidentHook::Close() {
  stop_ = true;
  {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void IncidentHook::Count(absl::string_view outcome) { outcomes_.Add({{"outcome", std::string(outcome)}}).Increment(); }

void IncidentHook::Run() {
  while (const std::optional<Turn> turn = WaitForTurn()) Take(*turn);
}

std::optional<IncidentHook::Turn> IncidentHook::WaitForTurn() {
  MutexLock lock(mutex_);
  while (!stop_.load()) {
    const int64_t left = next_ns_ - RealClock().MonotonicNanos();
    if (waiting_.empty()) {
      changed_.Wait(mutex_);
    } else if (left > 0) {
      changed_.WaitFor(mutex_, left);
    } else {
      const uint64_t incident = waiting_.front();
      waiting_.pop_front();
      return Turn{incident, spec_, links_};
    }
  }
  return std::nullopt;
}

bool IncidentHook::Restore() {
  if (restored_) return true;
  const absl::StatusOr<std::vector<wire::AuditRecord>> records = parts_.history.LoadAudit();
  if (!records.ok()) return false;
  const int64_t since_ns = parts_.clock.WallNanos() - kHookDayNanos;
  size_t within_day = 0;
  bool reaches_back = false;
  for (const wire::AuditRecord& record : *records) {
    if (record.action() == kRefusedCall) continue;  // these have room of their own
    if (record.wall_ns() > since_ns) {
      ++within_day;
    } else {
      reaches_back = true;
    }
  }
  if (within_day >= kSurelyKept && !reaches_back) return false;
  for (const wire::AuditRecord& record : *records) {
    if (record.action() == kRunAction) ration_.Note({record.wall_ns(), HostsIn(record.of())});
  }
  restored_ = true;
  return true;
}

void IncidentHook::Take(const Turn& turn) {
  const std::optional<wire::Incident> incident = parts_.incidents.Find(turn.incident);
  const HookSpec& spec = turn.spec;
  const bool is_over = !incident.has_value() || !IsOpen(*incident) || IsQuiet(*incident) ||
                       incident->has_acknowledgement() || HookMatchFor(spec, *incident) == nullptr;
  if (is_over) return Count("over");
  const std::vector<std::string> hosts = HostsToActOn(*incident);
  if (!CanBeRemembered(turn.incident, hosts)) return Count("share_limit");
  if (spec.run && !Restore()) {
    Log(LogLevel::kError, "the hook is not run: history does not say what was run before it");
    return Count("not_remembered");
  }
  const int64_t now_ns = parts_.clock.WallNanos();
  HookRation& ration = spec.run ? ration_ : dry_ration_;
  const HookAnswer answer = ration.Ask(spec, hosts, parts_.known_hosts(), now_ns);
  if (answer != HookAnswer::kYes) {
    const bool is_runs = answer == HookAnswer::kTooManyRuns;
    Log(LogLevel::kWarning, "the hook is not run: a limit is reached",
        {{"incident", std::to_string(turn.incident)}, {"limit", is_runs ? "max_per_hour" : "max_share"}});
    return Count(is_runs ? "run_limit" : "share_limit");
  }
  next_ns_ = RealClock().MonotonicNanos() + spec.every_ns;
  if (spec.run) return RunProgram(turn, *incident, hosts);
  ration.Note({now_ns, hosts});
  Log(LogLevel::kInfo, "the hook would be run", {{"command", spec.command}, {"of", SubjectOf(turn.incident, hosts)}});
  Count("dry_run");
}

void IncidentHook::RunProgram(const Turn& turn, const wire::Incident& incident, const std::vector<std::string>& hosts) {
  const HookSpec& spec = turn.spec;
  const std::string subject = SubjectOf(turn.incident, hosts);
  if (const absl::Status trusted = CheckTrustedProgram(spec.command); !trusted.ok()) {
    parts_.audit.Note(kBy, spec.command, kEndAction, subject, trusted).IgnoreError();
    return Count("refused");
  }
  if (!parts_.audit.Note(kBy, spec.command, kRunAction, subject, absl::OkStatus()).ok()) return Count("not_remembered");
  ration_.Note({parts_.clock.WallNanos(), hosts});
  hosts_acted_on_.Set(static_cast<double>(ration_.HostsActedOn(parts_.clock.WallNanos())));
  const ChildOptions child = {.program = spec.command,
                              .environment = EnvironmentOf(spec),
                              .input = HookInput(incident, turn.links),
                              .timeout_ns = spec.timeout_ns,
                              .max_output_bytes = kMaxOutputBytes,
                              .stop = &stop_};
  const absl::StatusOr<ChildResult> result = RunChild(child);
  absl::Status outcome = result.status();
  if (result.ok() && result->exit_code != 0) {
    outcome = absl::AbortedError(result->timed_out        ? "its time was over"
                                 : result->exit_code >= 0 ? absl::StrCat("exit code ", result->exit_code)
                                                          : absl::StrCat("signal ", result->signal));
  }
  const std::string printed = result.ok() ? ValidText(absl::StripAsciiWhitespace(result->output), kMaxOutputBytes) : "";
  parts_.audit
      .Note(kBy, spec.command, kEndAction, absl::StrCat(turn.incident, printed.empty() ? "" : ": ", printed), outcome)
      .IgnoreError();
  Count(outcome.ok() ? "ok" : result.ok() && result->timed_out ? "timed_out" : "failed");
}

}  // namespace lockstep
