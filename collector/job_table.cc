#include "collector/job_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/awaited_agents.h"
#include "collector/convert/agent_commands.h"
#include "collector/convert/detector_options.h"
#include "collector/convert/summary.h"
#include "collector/host_histories.h"
#include "collector/ingest/host_takeovers.h"
#include "collector/last_seen.h"
#include "collector/warm_up.h"
#include "detector/model/rank_rivals.h"
#include "detector/verdict/ledger_line.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

bool HasSilence(const std::vector<Verdict>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(), IsSilence);
}

std::optional<LedgerGauges> GaugesOf(const wire::Job& job) {
  if (!job.has_ledger()) return std::nullopt;
  const wire::TimeLedger& ledger = job.ledger();
  LedgerGauges gauges = {.measured_seconds = ledger.measured_seconds(),
                         .reference_seconds = ledger.reference_seconds(),
                         .unexplained_seconds = ledger.unexplained_seconds(),
                         .error_seconds = ledger.error_seconds()};
  for (const wire::LedgerLine& line : ledger.lines()) gauges.explained_seconds += line.seconds();
  return gauges;
}

// Who started a job: the namespace of its pods, or else its user. "" = not told.
std::string OwnerOf(const wire::AgentReport& report) {
  for (const wire::ProcessReport& process : report.processes()) {
    const size_t slash = process.pod().find('/');
    if (slash != std::string::npos) return absl::StrCat("namespace ", process.pod().substr(0, slash));
    if (process.has_uid()) return absl::StrCat("uid ", process.uid());
  }
  return "";
}

}  // namespace

JobTable::JobTable(const JobTableOptions& options, const Clock& clock, const Outlets& outlets)
    : options_(options),
      clock_(clock),
      outlets_(outlets),
      log_(outlets.log),
      book_(
          options.incidents, [&index = outlets.index] { return index.NextId(); }, outlets.maintenance,
          outlets.name_gpus,
          [&index = outlets.index](const wire::Incident& incident, int64_t wall_ns) {
            return IsLemon(index, incident, wall_ns);
          }),
      snapshot_(std::make_shared<JobsSnapshot>()) {}

void JobTable::Restore(const std::vector<wire::Incident>& incidents) {
  book_.Restore(incidents);
  const int64_t now = NextStamp();
  for (const wire::Incident& incident : incidents) {
    if (incident.state() == wire::Incident::STATE_OPEN) orphans_[incident.job()] = now;
  }
}

void JobTable::WarmUpJob(const std::string& name, const ReadLog& read) {
  if (jobs_.size() >= options_.max_jobs + jobs_.count("")) return;
  JobPipeline pipeline(options_.engine);
  WarmUp warm_up(options_.engine, &pipeline);
  const int64_t now_ns = NextStamp();
  const absl::Status status = read([&](const wire::CaptureEntry& entry) {
    ++turns_;
    if (entry.has_input()) log_.reports().Restore(entry.input(), now_ns);
    return warm_up.Feed(entry);
  });
  if (!status.ok()) {
    Log(LogLevel::kWarning, "a job begins anew, its log cannot be read",
        {{"job", name}, {"error", std::string(status.message())}});
    return;
  }
  if (warm_up.inputs() == 0) return;
  const int64_t from_ns = warm_up.from_wall_ns();
  jobs_.emplace(name, Job{.pipeline = std::move(pipeline),
                          .first_seen_ns = from_ns,
                          .last_seen_ns = NextStamp(),
                          .hosts = warm_up.hosts(),
                          .warmed_from_ns = from_ns});
}

void JobTable::Resume(const std::string& name, Job& job) {
  orphans_.erase(name);
  const int64_t from_ns = std::exchange(job.warmed_from_ns, 0);
  job.resumed_ns = LogReset(name, job, "the collector was started again and gave the engine its log", from_ns);
  job.pipeline.Resume(job.resumed_ns);
  job.name_conflicts = job.pipeline.summary().name_conflicts;  // an earlier life has told them
}

void JobTable::NoteHole(Job& job, bool taken) { job.log_has_hole = job.log_has_hole || !taken; }

int64_t JobTable::LogReset(const std::string& name, Job& job, const std::string& why, int64_t warmed_from_ns) {
  const int64_t stamp_ns = NextStamp();
  job.log_has_hole = !log_.AppendReset(name, stamp_ns, why, warmed_from_ns, options_.engine);
  return stamp_ns;
}

void JobTable::BeginAnew(const std::string& name, Job& job, const std::string& why) {
  book_.BeginAnew(name);
  const int64_t from_ns = GiveLog(name, job);
  if (from_ns == 0) job.pipeline.Reset(options_.engine);
  const int64_t reset_ns = LogReset(name, job, why, from_ns);
  if (from_ns != 0) job.pipeline.Resume(reset_ns);
}

int64_t JobTable::GiveLog(const std::string& name, Job& job) {
  if (outlets_.read_log == nullptr) return 0;
  const int64_t most = allowance_.Left(newest_stamp_ns_, jobs_.size());
  if (most == 0) return 0;
  JobPipeline pipeline(options_.engine);
  WarmUp warm_up(options_.engine, &pipeline);
  const absl::Status status = outlets_.read_log(name, most, [&](const wire::CaptureEntry& entry) {
    ++turns_;
    return warm_up.Feed(entry);
  });
  allowance_.Spend(warm_up.inputs());
  if (!status.ok() || warm_up.inputs() == 0) return 0;
  job.pipeline = std::move(pipeline);
  return warm_up.from_wall_ns();
}

bool JobTable::MendHole(const std::string& name, Job& job) {
  if (!job.log_has_hole || !log_.healthy()) return false;
  BeginAnew(name, job, "entries were lost while history refused writes");
  return true;
}

absl::StatusOr<wire::Incident> JobTable::Act(const std::string& job, uint64_t id, const IncidentAction& action) {
  ASSIGN_OR_RETURN(ActedIncident acted, book_.Act(job, id, action, NextStamp()));
  if (acted.event.has_value()) Publish({*std::move(acted.event)});
  return std::move(acted.incident);
}

void JobTable::AddProfile(const std::string& job, const JobProfile& profile) {
  const auto known = jobs_.find(job);
  if (known == jobs_.end() || known->second.state >= JobState::kHung) return;
  Publish(book_.AddProfile(job, profile, NextStamp()));
}

void JobTable::EndPart(const std::string& part, const std::string& whole) {
  const bool is_known = jobs_.erase(part) + orphans_.erase(part) > 0;
  if (!is_known) return;
  Publish(book_.EndJob(part, NextStamp(), wire::Incident::RESOLUTION_JOB_LOST,
                       absl::StrCat("its ranks are of the job ", whole)));
  outlets_.metrics.jobs.Remove(part);
}

void JobTable::Reconfigure(const JobTableOptions& options) {
  const bool judge_otherwise =
      ToWire(options.engine).SerializeAsString() != ToWire(options_.engine).SerializeAsString();
  options_ = options;
  book_.SetOptions(options.incidents);
  if (!judge_otherwise) return;
  std::erase_if(jobs_, [](const auto& entry) { return entry.second.warmed_from_ns != 0; });
  for (auto& [name, job] : jobs_) BeginAnew(name, job, "the thresholds of the detector were changed");
}

bool JobTable::MakeRoomFor(const std::string& owner) {
  std::map<absl::string_view, size_t> counts = {{owner, 0}};
  for (const auto& [name, job] : jobs_) {
    if (!name.empty()) ++counts[job.owner];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (counts[owner] + 2 > most->second) return false;
  auto newest = jobs_.end();
  for (auto entry = jobs_.begin(); entry != jobs_.end(); ++entry) {
    if (entry->first.empty() || entry->second.owner != most->first) continue;
    if (newest == jobs_.end() || entry->second.first_seen_ns > newest->second.first_seen_ns) newest = entry;
  }
  Publish(book_.EndJob(newest->first, NextStamp(), wire::Incident::RESOLUTION_JOB_LOST,
                       "it is not watched any more: max_jobs is reached, and its owner has most of them"));
  outlets_.metrics.jobs.Remove(newest->first);
  outlets_.metrics.CountDropped("job_share");
  jobs_.erase(newest);
  return true;
}

JobTable::Job* JobTable::FindOrCreate(const std::string& name, const wire::AgentReport& report) {
  const auto found = jobs_.find(name);
  if (found != jobs_.end()) {
    if (found->second.warmed_from_ns != 0) Resume(name, found->second);
    if (found->second.owner.empty()) found->second.owner = OwnerOf(report);
    return &found->second;
  }
  const std::string owner = OwnerOf(report);
  const bool is_full = jobs_.size() >= options_.max_jobs + jobs_.count("");
  if (is_full && !name.empty() && !MakeRoomFor(owner)) return nullptr;
  const int64_t now = NextStamp();
  Job& job =
      jobs_
          .emplace(
              name,
              Job{.pipeline = JobPipeline(options_.engine), .first_seen_ns = now, .last_seen_ns = now, .owner = owner})
          .first->second;
  orphans_.erase(name);
  LogReset(name, job, "first report of the job since the collector was started or forgot it");
  return &job;
}

void JobTable::Observe(JobSlice slice) {
  ++turns_;
  if (slice.ticket.ledger != nullptr && slice.ticket.ledger->IsStale(slice.ticket)) return;
  const LoggedReports::Place place = log_.reports().PlaceOf(slice.input.job(), slice.ticket);
  if (place == LoggedReports::Place::kLogged) return log_.PassOver(std::move(slice));
  Job* job = FindOrCreate(slice.input.job(), slice.input.report());
  // What is sent again is for the engine that comes behind the hole.
  if (place == LoggedReports::Place::kSentAgain && job != nullptr) MendHole(slice.input.job(), *job);
  const int64_t stamp_ns = NextStamp();
  slice.input.set_received_wall_ns(stamp_ns);
  slice.report.received_ns = stamp_ns;
  if (job != nullptr) {
    job->last_seen_ns = stamp_ns;
    NoteHost(*job, slice.report.host, stamp_ns);
    job->pipeline.ObservePlaces(slice.report.host, slice.places);
    job->pipeline.Observe(slice.report);
  } else {
    outlets_.metrics.CountDropped("too_many_jobs");
  }
  // History takes even what no engine looks at: the report is acknowledged as stored, not as judged.
  const bool is_logged = place != LoggedReports::Place::kTooSoon && log_.AppendSlice(std::move(slice));
  if (place == LoggedReports::Place::kTooSoon) outlets_.metrics.CountDropped("store_refuses");
  if (job != nullptr) NoteHole(*job, is_logged);
}

void JobTable::Evaluate() {
  const int64_t begun_ns = clock_.MonotonicNanos();
  const int64_t watermark_ns = NextStamp();
  const bool renew_ranks = watermark_ns - ranks_renewed_ns_ >= options_.ranks_every_ns;
  if (renew_ranks) ranks_renewed_ns_ = watermark_ns;
  pulse_.reset();
  auto next = std::make_shared<JobsSnapshot>();
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    auto& [name, job] = *entry;
    const bool waits = job.warmed_from_ns != 0;
    ++turns_;
    if (!waits) EvaluateJob(name, job, watermark_ns, renew_ranks);
    if (ForgetIfIdle(name, job, watermark_ns)) {
      entry = jobs_.erase(entry);
      continue;
    }
    if (!waits && !name.empty()) next->jobs.push_back(Describe(name, job));
    if (!waits) {
      next->ranks[name] = job.ranks;
      next->hosts[name] = job.published_hosts;
    }
    ++entry;
  }
  EndOrphans(watermark_ns);
  if (renew_ranks) log_.reports().Forget(watermark_ns);
  Publish(book_.Tick(watermark_ns));
  {
    MutexLock lock(mutex_);
    snapshot_ = std::move(next);
  }
  const double seconds = static_cast<double>(clock_.MonotonicNanos() - begun_ns) / kNanosPerSecond;
  outlets_.metrics.detection_seconds.Observe(seconds);
  outlets_.metrics.watermark_lag_seconds.Set(static_cast<double>(clock_.WallNanos() - watermark_ns) / kNanosPerSecond);
}

void JobTable::EvaluateJob(const std::string& name, Job& job, int64_t watermark_ns, bool renew_ranks) {
  if (MendHole(name, job)) watermark_ns = NextStamp();
  const FleetSight fleet = LookBeside(job, watermark_ns);
  NoteHole(job, log_.AppendWatermark(name, watermark_ns, fleet));
  const JobPipeline::Outcome outcome = job.pipeline.Evaluate(watermark_ns, fleet);
  if (outcome.changed) {
    NoteHole(job, log_.AppendConclusion(name, watermark_ns, outcome.conclusion.can_conclude, outcome.lines));
  }
  SendRequests(name, outcome.conclusion);
  Conclude(name, job, outcome.conclusion, watermark_ns);
  if (!renew_ranks && job.ranks != nullptr) return;
  auto ranks = std::make_shared<std::vector<wire::Rank>>();
  for (const RankSummary& rank : job.pipeline.ranks()) ranks->push_back(ToProto(rank));
  job.ranks = std::move(ranks);
  ForgetHosts(job, watermark_ns);
  job.published_hosts = std::make_shared<const std::map<std::string, SeenSpan>>(job.hosts);
}

FleetSight JobTable::LookBeside(const Job& job, int64_t watermark_ns) {
  const bool is_over =
      job.state == JobState::kEnded || job.state == JobState::kStopped || LastSeenOf(job.state).holds_on;
  const bool is_heard = watermark_ns - job.last_seen_ns <= kHeardWithinNs;
  if (is_over || is_heard || job.ranks == nullptr || job.ranks->empty() || outlets_.agents == nullptr) return {};
  if (!pulse_.has_value()) pulse_.emplace(outlets_.agents(), watermark_ns);
  return pulse_->Beside(*job.ranks);
}

// A job that died, or may have died, keeps its incidents: nobody has seen their causes go. They end with what is known
// of the job.
void JobTable::Conclude(const std::string& name, Job& job, JobEngine::Conclusion conclusion, int64_t watermark_ns) {
  const JobSummary summary = job.pipeline.summary();
  NoteConflicts(name, job, summary, watermark_ns);
  const JobState before = std::exchange(job.state, summary.state);
  if (summary.state == JobState::kEnded) {
    return Publish(book_.EndJob(name, watermark_ns, wire::Incident::RESOLUTION_JOB_ENDED, summary.note));
  }
  if (summary.state == JobState::kStopped) {
    return Publish(book_.EndJob(name, watermark_ns, wire::Incident::RESOLUTION_JOB_STOPPED, summary.note));
  }
  const LastSeen& last = LastSeenOf(before);
  if (last.holds_on && !LastSeenOf(summary.state).holds_on) {
    Publish(book_.EndJob(name, watermark_ns, last.resolution, absl::StrCat(last.what, ", and was started again")));
  }
  const JobSight sight = {.is_well = summary.is_well,
                          .is_blind = summary.state == JobState::kHung && HasSilence(conclusion.verdicts),
                          .step_seconds = summary.step_seconds_median,
                          .hears = [&job, watermark_ns](const std::string& host) {
                            const auto seen = job.hosts.find(host);
                            return seen != job.hosts.end() && watermark_ns - seen->second.last_wall_ns < kHeardWithinNs;
                          }};
  conclusion.verdicts = WithoutAwaited(std::move(conclusion.verdicts), job.hosts, job.resumed_ns, watermark_ns);
  Publish(book_.Apply(name, conclusion, watermark_ns, sight, LedgerOf(name, job)));
}

void JobTable::NoteConflicts(const std::string& name, Job& job, const JobSummary& summary, int64_t watermark_ns) {
  const uint64_t before = std::exchange(job.name_conflicts, summary.name_conflicts);
  if (summary.name_conflicts <= before) return;  // fewer: the engine has begun anew
  outlets_.metrics.job_name_conflicts.Increment(static_cast<double>(summary.name_conflicts - before));
  const bool was_told = watermark_ns - job.conflict_warned_ns < HostTakeovers::kWarningPeriodNanos;
  if (was_told || !summary.name_conflict.has_value()) return;
  job.conflict_warned_ns = watermark_ns;
  const NameConflict& conflict = *summary.name_conflict;
  Log(LogLevel::kWarning, "two processes say that they are the same rank of a job: only one of them is watched",
      {{"job", name},
       {"rank", absl::StrCat(conflict.rank)},
       {"host", conflict.kept_host},
       {"pid", absl::StrCat(conflict.kept_pid)},
       {"unwatched_host", conflict.other_host},
       {"unwatched_pid", absl::StrCat(conflict.other_pid)}});
}

// A request that cannot be sent has no answer: the engine waits for answers for a while only.
void JobTable::SendRequests(const std::string& name, const JobEngine::Conclusion& conclusion) {
  for (const PullRequest& request : conclusion.requests) {
    const bool sent = outlets_.command_agent(request.host, ToCommand(name, request));
    (sent ? outlets_.metrics.pulls.requested : outlets_.metrics.pulls.unsent).Increment();
  }
  for (const WatchRequest& request : conclusion.watches) {
    const bool sent = outlets_.command_agent(request.host, ToCommand(name, request));
    (sent ? outlets_.metrics.watches.requested : outlets_.metrics.watches.unsent).Increment();
  }
}

void JobTable::NoteHost(Job& job, const std::string& host, int64_t stamp_ns) const {
  const auto known = job.hosts.find(host);
  if (known != job.hosts.end()) {
    known->second.last_wall_ns = stamp_ns;
  } else if (job.hosts.size() < options_.max_hosts_per_job) {
    job.hosts.emplace(host, SeenSpan{stamp_ns, stamp_ns});
  }
}

void JobTable::ForgetHosts(Job& job, int64_t now_ns) const {
  std::erase_if(job.hosts,
                [&](const auto& host) { return now_ns - host.second.last_wall_ns > options_.forget_after_ns; });
}

// The engine sees no profiles: what they have shown takes its part of what it cannot explain.
SeenLedger JobTable::LedgerOf(const std::string& name, const Job& job) const {
  SeenLedger seen = job.pipeline.ledger();
  for (const IncidentBook::ProfiledCost& cost : book_.ProfiledCosts(name)) {
    Explain(cost.finding, cost.share, seen.ledger);
  }
  return seen;
}

wire::Job JobTable::Describe(const std::string& name, const Job& job) const {
  const JobSummary summary = job.pipeline.summary();
  wire::Job message;
  FillJob(summary, message);
  FillLedger(LedgerOf(name, job), message);
  message.set_job(name);
  message.set_ranks(static_cast<int32_t>(job.ranks->size()));
  message.set_hosts(static_cast<int32_t>(job.hosts.size()));
  message.set_first_seen_wall_ns(job.first_seen_ns);
  message.set_last_seen_wall_ns(job.last_seen_ns);
  outlets_.metrics.jobs.Set(name, {message.state(), message.steps_per_second(), message.step_seconds_median(),
                                   static_cast<double>(message.ranks()), GaugesOf(message)});
  return message;
}

bool JobTable::ForgetIfIdle(const std::string& name, const Job& job, int64_t now_ns) {
  if (now_ns - job.last_seen_ns <= options_.forget_after_ns) return false;
  const LastSeen& last = LastSeenOf(job.state);
  Publish(
      book_.EndJob(name, now_ns, last.resolution,
                   last.holds_on ? absl::StrCat(last.what, ", and was not started again") : std::string(last.what)));
  outlets_.metrics.jobs.Remove(name);
  return true;
}

void JobTable::EndOrphans(int64_t now_ns) {
  for (auto orphan = orphans_.begin(); orphan != orphans_.end();) {
    if (now_ns - orphan->second <= options_.forget_after_ns) {
      ++orphan;
      continue;
    }
    Publish(book_.EndJob(orphan->first, now_ns, wire::Incident::RESOLUTION_JOB_LOST,
                         "the job was not seen again after a restart of the collector"));
    orphan = orphans_.erase(orphan);
  }
}

void JobTable::Publish(const std::vector<IncidentEvent>& events) {
  for (const IncidentEvent& event : events) {
    outlets_.index.Put(event.incident);
    outlets_.alerts.Announce(event);
    outlets_.metrics.incident_events.Increment();
  }
  if (!events.empty()) outlets_.metrics.SetIncidents(outlets_.index.Counts());
}

std::shared_ptr<const JobsSnapshot> JobTable::snapshot() const {
  MutexLock lock(mutex_);
  return snapshot_;
}

}  // namespace lockstep
