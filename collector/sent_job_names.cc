#include "collector/sent_job_names.h"

#include <algorithm>
#include <utility>

namespace lockstep {

std::vector<std::string> SentJobNames::JobsOf(const wire::AgentReport& report) {
  std::vector<std::string> jobs;
  jobs.reserve(report.processes_size());
  for (const wire::ProcessReport& process : report.processes()) jobs.push_back(process.job());
  return jobs;
}

void SentJobNames::Note(const std::string& host, const std::vector<std::string>& sent,
                        const wire::AgentReport& report) {
  const auto job_of = [&report](size_t i) -> const std::string& { return report.processes(static_cast<int>(i)).job(); };
  bool is_any_other = false;
  for (size_t i = 0; i < sent.size(); ++i) is_any_other = is_any_other || job_of(i) != sent[i];
  Names names;
  for (size_t i = 0; is_any_other && i < sent.size(); ++i) {
    std::vector<std::string>& known = names[job_of(i)];
    if (std::find(known.begin(), known.end(), sent[i]) == known.end()) known.push_back(sent[i]);
  }
  MutexLock lock(mutex_);
  if (!is_any_other) {
    hosts_.erase(host);
  } else if (hosts_.size() < kMaxHosts || hosts_.contains(host)) {
    hosts_[host] = std::move(names);
  }
}

void SentJobNames::Address(const std::string& host, wire::Command& command) {
  MutexLock lock(mutex_);
  const auto names = hosts_.find(host);
  if (names == hosts_.end()) return;
  const auto sent = names->second.find(command.job());
  if (sent == names->second.end()) return;
  while (waiting_.size() >= kMaxWaiting || order_.size() >= 2 * kMaxWaiting) {
    waiting_.erase(order_.front());
    order_.pop_front();
  }
  const CommandKey key = {host, command.id()};
  waiting_[key] = command.job();
  order_.push_back(key);
  command.set_job(sent->second.front());
  command.mutable_further_jobs()->Assign(sent->second.begin() + 1, sent->second.end());
}

void SentJobNames::TakeBack(const std::string& host, wire::AgentReport& report) {
  if (report.command_results().empty()) return;
  MutexLock lock(mutex_);
  for (wire::CommandResult& result : *report.mutable_command_results()) {
    const auto job = waiting_.find({host, result.id()});
    if (job == waiting_.end()) continue;
    result.set_job(job->second);
    waiting_.erase(job);
  }
}

}  // namespace lockstep
