#include "collector/place_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "collector/convert/job_name.h"

namespace lockstep {
namespace {

// The first process of a machine: whoever has lost his parent is its child.
constexpr int32_t kInit = 1;

// As parts of one job agree (job_names.h): a name with a namespace is that of everybody in there.
std::string OwnerOf(const wire::ProcessReport& process) {
  const absl::string_view pod = process.pod();
  const size_t slash = pod.find('/');
  if (slash != absl::string_view::npos) return std::string(pod.substr(0, slash));
  if (absl::string_view(process.job()).find('/') != absl::string_view::npos || !process.has_uid()) return "";
  return absl::StrCat(process.uid());
}

}  // namespace

PlaceRuns::PlaceKey PlaceRuns::PlaceOf(const wire::ProcessReport& process) {
  return {std::string(PlaceOfJobName(process.job())), OwnerOf(process)};
}

bool PlaceRuns::IsOver(const wire::ProcessReport& process) {
  return process.state() == wire::PROCESS_STATE_GONE || process.state() == wire::PROCESS_STATE_ZOMBIE;
}

PlaceRuns::Life PlaceRuns::LifeOf(int64_t wall_ns, const wire::ProcessReport& process) {
  Life life = {.from_ns = wall_ns - std::max<int64_t>(0, process.recorded_ns()), .to_ns = wall_ns};
  if (IsOver(process)) life.to_ns -= std::max<int64_t>(0, process.end().age_ns());
  life.to_ns = std::max(life.to_ns, life.from_ns);
  return life;
}

int64_t PlaceRuns::EndOf(const Run& run) {
  int64_t end_ns = run.life.to_ns;
  for (const auto& [process, seen_ns] : run.alive) end_ns = std::max(end_ns, seen_ns + kLivesOnNanos);
  return end_ns;
}

void PlaceRuns::Settle(const std::string& host, int64_t wall_ns, wire::AgentReport& report) {
  MutexLock lock(mutex_);
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    if (!process.has_recorded_ns() || KindOfJobName(process.job()) != JobNameKind::kPlace) continue;
    const Life life = LifeOf(wall_ns, process);
    std::shared_ptr<Run> run = FindLocked(host, life, process);
    if (run == nullptr) {
      ++refused_;
      continue;
    }
    NoteLocked(host, life, wall_ns, process, run);
    process.set_job(run->name);
  }
}

std::shared_ptr<PlaceRuns::Run> PlaceRuns::FindLocked(const std::string& host, const Life& life,
                                                      const wire::ProcessReport& process) {
  const auto known = processes_.find({host, process.pid(), process.process_start_ticks()});
  if (known != processes_.end()) return known->second.run;
  if (processes_.size() >= kMaxProcesses) return nullptr;
  const PlaceKey place = PlaceOf(process);
  const LauncherKey launcher = {host, process.launcher_pid(), process.launcher_start_ticks()};
  const auto& runs = runs_[place];
  for (const std::shared_ptr<Run>& run : runs) {
    if (run->launchers.contains(launcher)) return run;
  }
  for (const std::shared_ptr<Run>& run : runs) {
    if (life.from_ns <= EndOf(*run) && run->life.from_ns <= life.to_ns) return run;
  }
  return MakeLocked(place, JobNameOfRun(process.job(), life.from_ns), life);
}

std::shared_ptr<PlaceRuns::Run> PlaceRuns::MakeLocked(const PlaceKey& place, const std::string& name,
                                                      const Life& life) {
  auto& runs = runs_[place];
  if (runs.size() >= kMaxRuns) {
    runs.erase(std::min_element(runs.begin(), runs.end(),
                                [](const auto& a, const auto& b) { return a->life.to_ns < b->life.to_ns; }));
  }
  runs.push_front(std::make_shared<Run>(Run{.name = name, .life = life}));
  return runs.front();
}

void PlaceRuns::NoteLocked(const std::string& host, const Life& life, int64_t wall_ns,
                           const wire::ProcessReport& process, const std::shared_ptr<Run>& run) {
  const ProcessKey key = {host, process.pid(), process.process_start_ticks()};
  processes_[key] = {run, wall_ns};
  run->life.from_ns = std::min(run->life.from_ns, life.from_ns);
  run->life.to_ns = std::max(run->life.to_ns, life.to_ns);
  if (process.launcher_pid() > kInit && run->launchers.size() < kMaxLaunchers) {
    run->launchers.insert({host, process.launcher_pid(), process.launcher_start_ticks()});
  }
  if (IsOver(process)) {
    run->alive.erase(key);
  } else {
    run->alive[key] = wall_ns;
  }
}

void PlaceRuns::Restore(const std::string& host, const std::string& job, int64_t wall_ns,
                        const wire::AgentReport& report) {
  if (KindOfJobName(job) != JobNameKind::kPlace) return;
  MutexLock lock(mutex_);
  for (const wire::ProcessReport& process : report.processes()) {
    if (!process.has_recorded_ns() || processes_.size() >= kMaxProcesses) continue;
    const Life life = LifeOf(wall_ns, process);
    auto& runs = runs_[PlaceOf(process)];
    const auto same = std::find_if(runs.begin(), runs.end(), [&job](const auto& run) { return run->name == job; });
    const std::shared_ptr<Run> run = same != runs.end() ? *same : MakeLocked(PlaceOf(process), job, life);
    NoteLocked(host, life, wall_ns, process, run);
  }
}

void PlaceRuns::ForgetSilent(int64_t wall_ns, int64_t after_ns) {
  MutexLock lock(mutex_);
  std::erase_if(processes_, [&](const auto& entry) {
    const auto& [key, process] = entry;
    const bool is_silent = wall_ns - process.heard_ns > after_ns;
    if (is_silent) process.run->alive.erase(key);
    return is_silent;
  });
  for (auto& [place, runs] : runs_) {
    std::erase_if(runs, [&](const auto& run) { return wall_ns - EndOf(*run) > after_ns; });
  }
  std::erase_if(runs_, [](const auto& entry) { return entry.second.empty(); });
}

uint64_t PlaceRuns::TakeRefused() {
  MutexLock lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace lockstep
