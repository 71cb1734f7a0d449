#include "agent/sources/rings/exit_watch.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/sources/rings/process_stat.h"
#include "base/log.h"

namespace lockstep {
namespace {

// From the kernel's linux/pidfd.h of 6.15, which the headers that we build with do not have yet.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup_id;
  uint32_t ids[11];  // pid, tgid, ppid, and those of user and group
  int32_t exit_status;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kPidfdInfoExit = uint64_t{1} << 3;
constexpr auto kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

constexpr char kNotTold[] = "ends of processes are not told here: how some of them ended will not be known";

UniqueFd OpenPidfd(int32_t pid) {
#ifdef SYS_pidfd_open
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  static_cast<void>(pid);
  return UniqueFd();
#endif
}

bool HasEnded(int pidfd) {
  pollfd one = {pidfd, POLLIN, 0};
  return poll(&one, 1, 0) == 1 && one.revents != 0;
}

bool AskPidfd(const UniqueFd& pidfd, ProcessExit& end) {
  PidfdInfo info = {};
  info.mask = kPidfdInfoExit;
  if (!pidfd.valid() || ioctl(pidfd.get(), kPidfdGetInfo, &info) != 0 || (info.mask & kPidfdInfoExit) == 0) {
    return false;
  }
  SetStatus(ExitSource::kPidfd, info.exit_status, end);
  return true;
}

// Of a release "6.15.2-amd64"; what it does not say counts as old.
bool PidfdTellsEnds(const std::string& release) {
  constexpr std::pair<int, int> kSince = {6, 15};
  std::pair<int, int> version = {0, 0};
  return sscanf(release.c_str(), "%d.%d", &version.first, &version.second) == 2 && version >= kSince;
}

}  // namespace

std::string ExitWatch::KernelRelease() {
  utsname name = {};
  return uname(&name) == 0 ? name.release : "";
}

// The first time that somebody is to be watched: a host without jobs pays nothing.
bool ExitWatch::Begin() {
  if (begun_) return may_watch_;
  begun_ = true;
  const absl::StatusOr<std::string> self = root_.ReadLink("proc/self");
  may_watch_ = self.ok() && *self == std::to_string(getpid());
  if (!may_watch_) {
    Log(LogLevel::kWarning, kNotTold, {{"reason", "the agent is in another PID namespace than proc/ shows"}});
    return false;
  }
  absl::StatusOr<ExitConnector> connector = open_();
  if (connector.ok()) {
    connector_ = *std::move(connector);
  } else if (PidfdTellsEnds(release_)) {
    Log(LogLevel::kInfo, "the kernel tells how processes end, and the moment only to within two looks",
        {{"status", connector.status().ToString()}});
  } else {
    Log(LogLevel::kWarning, kNotTold,
        {{"reason", connector.status().ToString()},
         {"kernel", release_},
         {"remedy", "the drop-in process-ends.conf gives CAP_NET_ADMIN"}});
  }
  return true;
}

void ExitWatch::Add(int32_t pid, int64_t now_ns) {
  if (watched_.count(pid) != 0 || watched_.size() >= kMaxWatched || !Begin()) return;
  // What waits was told of an earlier process of this number.
  Hear();
  Watched added;
  added.pidfd = OpenPidfd(pid);
  added.alive_ns = now_ns;
  watched_.emplace(pid, std::move(added));
}

void ExitWatch::Retain(const std::set<int32_t>& pids) {
  for (auto watched = watched_.begin(); watched != watched_.end();) {
    watched = pids.count(watched->first) != 0 ? std::next(watched) : watched_.erase(watched);
  }
}

void ExitWatch::Hear() {
  if (!connector_.has_value()) return;
  connector_->Read([this](const ExitConnector::Exit& exit) {
    const auto watched = watched_.find(exit.pid);
    if (watched != watched_.end() && !watched->second.heard.has_value()) watched->second.heard = exit;
  });
}

void ExitWatch::Poll(int64_t now_ns) {
  if (watched_.empty()) return;
  Hear();
  std::vector<pollfd> polled;
  polled.reserve(watched_.size());
  for (const auto& [pid, watched] : watched_) polled.push_back({watched.pidfd.get(), POLLIN, 0});
  const bool any = poll(polled.data(), polled.size(), 0) > 0;
  size_t index = 0;
  for (auto& [pid, watched] : watched_) {
    const bool ended = any && polled[index++].revents != 0;
    if (ended && (!watched.ended || watched.end.source == ExitSource::kNone)) Look(pid, watched, now_ns);
    if (!ended && watched.pidfd.valid()) watched.alive_ns = now_ns;
  }
}

bool ExitWatch::AskZombie(int32_t pid, ProcessExit& end) const {
  const absl::StatusOr<ProcessStat> stat = ReadProcessStat(root_, pid);
  if (!stat.ok() || stat->state != 'Z') return false;
  // Who may not look reads a status of 0. A zombie has no program: who may look finds none.
  const absl::Status program = root_.ReadLink(absl::StrCat("proc/", pid, "/exe")).status();
  if (stat->exit_status == 0 && !absl::IsNotFound(program)) return false;
  SetStatus(ExitSource::kZombie, stat->exit_status, end);
  return true;
}

void ExitWatch::Look(int32_t pid, Watched& watched, int64_t now_ns) const {
  ProcessExit& end = watched.end;
  if (!watched.ended) {
    end.at_ns = now_ns;
    end.uncertain_ns = now_ns - std::min(watched.alive_ns, now_ns);
  }
  watched.ended = true;
  // Of one that is reaped between the two questions the second one knows.
  const bool told = AskZombie(pid, end) || AskPidfd(watched.pidfd, end);
  if (!watched.heard.has_value()) return;
  if (!told) SetStatus(ExitSource::kConnector, watched.heard->status, end);
  end.at_ns = std::clamp<int64_t>(watched.heard->at_ns, 0, now_ns);
  end.uncertain_ns = 0;
}

absl::optional<ProcessExit> ExitWatch::Of(int32_t pid, int64_t now_ns) {
  Hear();
  const auto found = watched_.find(pid);
  if (found == watched_.end()) return absl::nullopt;
  Watched& watched = found->second;
  const bool over = watched.pidfd.valid() ? HasEnded(watched.pidfd.get()) : watched.heard.has_value();
  if (over && (!watched.ended || watched.end.source == ExitSource::kNone)) Look(pid, watched, now_ns);
  if (!watched.ended) return absl::nullopt;
  return watched.end;
}

}  // namespace lockstep
