#include "collector/job_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "base/log.h"

namespace lockstep {
namespace {

constexpr int64_t kLookNanos = 60 * kNanosPerSecond;
constexpr size_t kMaxNamespaceBytes = 63;  // of Kubernetes

// The namespace of "namespace/pod"; "" if it is none.
absl::string_view NamespaceOf(absl::string_view pod) {
  const size_t slash = pod.find('/');
  return slash == absl::string_view::npos || slash > kMaxNamespaceBytes ? "" : pod.substr(0, slash);
}

// Communicators of MPI are called alike in every job.
bool HasIdentities(const wire::ProcessReport& process) { return process.recorder() != wire::RECORDER_KIND_MPI; }

bool MayBeOfOneJob(const wire::CommunicatorReport& communicator, int32_t world_size) {
  return communicator.id() != 0 && (world_size <= 0 || communicator.size() <= world_size);
}

// As agent/sources/rings/job_fingerprint.h; 0 = it cannot be told yet.
uint64_t FingerprintOf(const wire::ProcessReport& process, bool is_settled) {
  const wire::CommunicatorReport* largest = nullptr;
  for (const wire::CommunicatorReport& communicator : process.communicators()) {
    if (!MayBeOfOneJob(communicator, process.world_size())) continue;
    if (largest == nullptr || communicator.size() > largest->size()) largest = &communicator;
  }
  if (largest == nullptr) return 0;
  const bool is_world = process.world_size() > 0 && largest->size() >= process.world_size();
  return is_world || is_settled ? largest->id() : 0;
}

}  // namespace

JobNames::Speaker JobNames::SpeakerOf(const wire::ProcessReport& process) {
  Speaker speaker;
  speaker.kind = KindOfJobName(process.job());
  if (process.has_uid()) speaker.traits.uid = process.uid();
  speaker.traits.name_space = std::string(NamespaceOf(process.pod()));
  if (process.world_size() > 0) speaker.traits.world_size = process.world_size();
  // That of its name too: it may be one that is reported no more.
  if (const absl::optional<uint64_t> named = CommunicatorOfJobName(process.job())) {
    speaker.communicators.push_back(*named);
  }
  for (int i = 0; i < std::min(process.communicators_size(), kMaxPerProcess); ++i) {
    const wire::CommunicatorReport& communicator = process.communicators(i);
    if (MayBeOfOneJob(communicator, process.world_size())) speaker.communicators.push_back(communicator.id());
  }
  return speaker;
}

JobNames::JobPtr JobNames::WholeOf(JobPtr job) {
  while (job != nullptr && job->whole != nullptr) job = job->whole;
  return job;
}

bool JobNames::Beats(const Job& a, const Job& b) { return a.kind != b.kind ? a.kind > b.kind : a.born < b.born; }

bool JobNames::MayJoin(JobNameKind kind, const Traits& traits, const Job& job) {
  if (kind == JobNameKind::kChosen || (kind == JobNameKind::kPlace && job.kind == JobNameKind::kChosen)) return false;
  const bool are_worlds_known = traits.world_size > 0 && job.traits.world_size > 0;
  if (are_worlds_known && traits.world_size != job.traits.world_size) return false;
  const bool are_namespaces_known = !traits.name_space.empty() && !job.traits.name_space.empty();
  if (are_namespaces_known) return traits.name_space == job.traits.name_space;
  const bool are_users_known = traits.uid >= 0 && job.traits.uid >= 0;
  if (are_users_known) return traits.uid == job.traits.uid;
  return kind <= JobNameKind::kFingerprint && job.kind == JobNameKind::kFingerprint;
}

// A name with a namespace is that of everybody in there: users of a pod differ from node to node.
bool JobNames::AreOthers(const std::string& name, const Traits& traits, const Job& job) {
  if (!traits.name_space.empty() && !job.traits.name_space.empty()) return traits.name_space != job.traits.name_space;
  const bool are_users_known = traits.uid >= 0 && job.traits.uid >= 0 && name.find('/') == std::string::npos;
  return are_users_known && traits.uid != job.traits.uid;
}

// Whoever takes the name of a part is not let into the whole by it. Its number of ranks may be another one by now.
bool JobNames::IsStranger(const std::string& own, const Speaker& speaker, const Job& home) {
  const Traits owner = {.uid = speaker.traits.uid, .name_space = speaker.traits.name_space};
  return home.name == own ? AreOthers(own, owner, home) : !MayJoin(speaker.kind, owner, home);
}

void JobNames::Absorb(const Traits& traits, Job& job) {
  if (job.traits.uid < 0) job.traits.uid = traits.uid;
  if (job.traits.name_space.empty()) job.traits.name_space = traits.name_space;
  if (job.traits.world_size <= 0) job.traits.world_size = traits.world_size;
}

std::vector<JobNames::United> JobNames::Settle(const std::string& host, int64_t now_ns, wire::AgentReport& report) {
  std::vector<United> united;
  MutexLock lock(mutex_);
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    if (HasIdentities(process)) process.set_job(NameLocked(host, now_ns, process, united));
  }
  return united;
}

std::string JobNames::NameLocked(const std::string& host, int64_t now_ns, const wire::ProcessReport& process,
                                 std::vector<United>& united) {
  const Speaker speaker = SpeakerOf(process);
  if (speaker.kind == JobNameKind::kChosen && speaker.communicators.empty()) return process.job();
  std::string own = OwnNameLocked(host, now_ns, process, speaker);
  if (speaker.kind != JobNameKind::kChosen && !own.empty()) own = NameAmongOthersLocked(own, speaker);
  const JobPtr home = WholeOf(FindLocked(own));
  if (home != nullptr && IsStranger(own, speaker, *home)) return own;
  if (home != nullptr && speaker.traits.world_size > 0) home->traits.world_size = speaker.traits.world_size;
  std::vector<JobPtr> candidates = CandidatesLocked(speaker);
  JobPtr job = home;
  for (const JobPtr& candidate : candidates) {
    if (speaker.kind == JobNameKind::kChosen || candidate->kind < speaker.kind) continue;
    if (job == nullptr || Beats(*candidate, *job)) job = candidate;
  }
  if (job == nullptr && own.empty()) return process.job();
  if (job == nullptr) job = MakeLocked(own, ++newest_born_);
  if (job == nullptr) return own;
  Absorb(speaker.traits, *job);
  job->seen_ns = now_ns;
  if (home != nullptr) candidates.push_back(home);
  UniteLocked(host, candidates, job, united);
  for (const uint64_t communicator : speaker.communicators) AddMemberLocked(host, communicator, job);
  if (speaker.kind == JobNameKind::kNone) {
    const auto nameless = nameless_.find({host, process.pid(), process.process_start_ticks()});
    if (nameless != nameless_.end()) nameless->second.job = job->name;
  }
  return job->name;
}

// Who once had a name of his own keeps it, also when the other job is not there any more.
std::string JobNames::NameAmongOthersLocked(const std::string& own, const Speaker& speaker) const {
  const std::string marked = JobNameOfOwner(own, speaker.traits.name_space, speaker.traits.uid);
  if (marked.empty()) return own;
  if (FindLocked(marked) != nullptr) return marked;
  const JobPtr home = WholeOf(FindLocked(own));
  return home != nullptr && IsStranger(own, speaker, *home) ? marked : own;
}

void JobNames::UniteLocked(const std::string& host, const std::vector<JobPtr>& parts, const JobPtr& job,
                           std::vector<United>& united) {
  for (const JobPtr& part : parts) {
    if (part == job || part->whole != nullptr || !MayJoin(part->kind, part->traits, *job)) continue;
    Log(LogLevel::kInfo, "two names are of one job: its processes share a communicator",
        {{"job", job->name}, {"also", part->name}, {"host", host}});
    Absorb(part->traits, *job);
    part->whole = job;
    united.push_back({part->name, job->name});
  }
}

std::string JobNames::OwnNameLocked(const std::string& host, int64_t now_ns, const wire::ProcessReport& process,
                                    const Speaker& speaker) {
  if (speaker.kind == JobNameKind::kFingerprint) {
    return FingerprintJobName(speaker.traits.name_space, speaker.communicators.front());
  }
  if (speaker.kind != JobNameKind::kNone) return process.job();
  const ProcessKey key = {host, process.pid(), process.process_start_ticks()};
  if (nameless_.size() >= kMaxNameless && nameless_.count(key) == 0) {
    ++refused_;
    return "";
  }
  Nameless& nameless = nameless_.try_emplace(key, Nameless{"", now_ns, now_ns}).first->second;
  nameless.seen_ns = now_ns;
  if (!nameless.job.empty()) return nameless.job;
  const uint64_t communicator = FingerprintOf(process, now_ns - nameless.first_ns >= kSettledNanos);
  return communicator == 0 ? "" : FingerprintJobName(speaker.traits.name_space, communicator);
}

std::vector<JobNames::JobPtr> JobNames::CandidatesLocked(const Speaker& speaker) {
  std::vector<JobPtr> candidates;
  for (const uint64_t communicator : speaker.communicators) {
    const auto member = members_.find(communicator);
    if (member == members_.end()) continue;
    JobPtr& job = member->second.job;
    job = WholeOf(job);
    // A process that has chosen its job takes others in, but joins none.
    const bool may = speaker.kind == JobNameKind::kChosen ? job->kind == JobNameKind::kFingerprint
                                                          : MayJoin(speaker.kind, speaker.traits, *job);
    if (may && std::find(candidates.begin(), candidates.end(), job) == candidates.end()) candidates.push_back(job);
  }
  return candidates;
}

JobNames::JobPtr JobNames::FindLocked(const std::string& name) const {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? nullptr : found->second;
}

JobNames::JobPtr JobNames::MakeLocked(const std::string& name, int64_t born) {
  if (jobs_.size() >= kMaxJobs) {
    ++refused_;
    return nullptr;
  }
  Job job;
  job.name = name;
  job.kind = KindOfJobName(name);
  job.born = born;
  return jobs_.emplace(name, std::make_shared<Job>(std::move(job))).first->second;
}

void JobNames::AddMemberLocked(const std::string& host, uint64_t communicator, const JobPtr& job) {
  if (members_.count(communicator) != 0) return;
  size_t& of_host = hosts_[host];
  if (members_.size() >= kMaxCommunicators || of_host >= kMaxPerHost) {
    ++refused_;
    return;
  }
  ++of_host;
  members_.emplace(communicator, Member{job, &of_host});
}

void JobNames::Restore(const std::string& host, const std::string& job_name, int64_t now_ns,
                       const wire::AgentReport& report) {
  const JobNameKind kind = KindOfJobName(job_name);
  // The log does not say whether the agents of a chosen job are believed of every job: their next reports do.
  if (kind == JobNameKind::kNone || kind == JobNameKind::kChosen) return;
  MutexLock lock(mutex_);
  for (const wire::ProcessReport& process : report.processes()) {
    if (!HasIdentities(process)) continue;
    const Speaker speaker = SpeakerOf(process);
    JobPtr job = FindLocked(job_name);
    if (job == nullptr) job = MakeLocked(job_name, 0);
    if (job == nullptr) return;
    job->born = --oldest_born_;
    Absorb(speaker.traits, *job);
    job->seen_ns = now_ns;
    for (const uint64_t communicator : speaker.communicators) {
      AddMemberLocked(host, communicator, job);
      const auto member = members_.find(communicator);
      if (member != members_.end()) member->second.job = job;
    }
  }
}

void JobNames::ForgetSilent(int64_t now_ns, int64_t after_ns) {
  MutexLock lock(mutex_);
  if (now_ns - looked_ns_ < kLookNanos) return;
  looked_ns_ = now_ns;
  const auto is_silent = [&](const JobPtr& job) { return now_ns - WholeOf(job)->seen_ns > after_ns; };
  absl::erase_if(members_, [&](const auto& member) {
    const bool forget = is_silent(member.second.job);
    if (forget) --*member.second.of_host;
    return forget;
  });
  std::erase_if(hosts_, [](const auto& host) { return host.second == 0; });
  std::erase_if(jobs_, [&](const auto& job) { return is_silent(job.second); });
  std::erase_if(nameless_, [&](const auto& process) { return now_ns - process.second.seen_ns > after_ns; });
}

uint64_t JobNames::TakeRefused() {
  MutexLock lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace lockstep
