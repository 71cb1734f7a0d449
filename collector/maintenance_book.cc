#include "collector/maintenance_book.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collector/convert/check_name.h"

namespace lockstep {
namespace {

absl::Status Check(const wire::MaintenanceWindow& wanted, int64_t now_wall_ns) {
  const int names = wanted.hosts_size() + wanted.jobs_size();
  if (names == 0) return absl::InvalidArgumentError("a window of maintenance needs a host or a job");
  if (names > MaintenanceBook::kMaxNames) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window of maintenance names at most ", MaintenanceBook::kMaxNames, " hosts and jobs"));
  }
  for (const std::string& host : wanted.hosts()) {
    if (host.empty()) return absl::InvalidArgumentError("a host has a name");
    RETURN_IF_ERROR(CheckName("host", host, MaintenanceBook::kMaxNameBytes));
  }
  for (const std::string& job : wanted.jobs()) {
    RETURN_IF_ERROR(CheckName("job", job, MaintenanceBook::kMaxNameBytes));
  }
  if (wanted.end_wall_ns() <= now_wall_ns) return absl::InvalidArgumentError("the window is over");
  if (wanted.begin_wall_ns() < 0 || wanted.begin_wall_ns() >= wanted.end_wall_ns()) {
    return absl::InvalidArgumentError("the window ends before it begins");
  }
  if (wanted.end_wall_ns() - wanted.begin_wall_ns() > MaintenanceBook::kLongestNanos) {
    return absl::InvalidArgumentError("a window of maintenance has at most 90 days");
  }
  return absl::OkStatus();
}

bool SaysTheSame(const wire::MaintenanceWindow& a, wire::MaintenanceWindow wanted) {
  wanted.set_id(a.id());
  wanted.set_created_wall_ns(a.created_wall_ns());
  return a.SerializeAsString() == wanted.SerializeAsString();
}

}  // namespace

MaintenanceBook::Window MaintenanceBook::ToWindow(const wire::MaintenanceWindow& message) {
  return {.message = message,
          .hosts = {message.hosts().begin(), message.hosts().end()},
          .jobs = {message.jobs().begin(), message.jobs().end()}};
}

absl::Status MaintenanceBook::Restore() {
  ASSIGN_OR_RETURN(const std::vector<wire::MaintenanceWindow> kept, history_.LoadMaintenance());
  MutexLock lock(mutex_);
  for (const wire::MaintenanceWindow& window : kept) windows_[window.id()] = ToWindow(window);
  return absl::OkStatus();
}

MaintenanceBook::Room MaintenanceBook::MakeRoom(size_t bytes, int64_t now_wall_ns) const {
  std::vector<std::pair<int64_t, uint64_t>> past;  // by end
  size_t left_bytes = 0;
  for (const auto& [id, window] : windows_) {
    const bool is_newest = id == windows_.rbegin()->first;  // so that no id is given out twice
    if (window.message.end_wall_ns() <= now_wall_ns && !is_newest) past.emplace_back(window.message.end_wall_ns(), id);
    left_bytes += window.message.ByteSizeLong();
  }
  std::sort(past.begin(), past.end());
  Room room;
  const size_t windows = windows_.size();
  const auto fits = [&] { return windows - room.leaving.size() < kMaxWindows && left_bytes + bytes <= kMaxBytes; };
  for (const auto& [end_ns, id] : past) {
    const bool is_old = now_wall_ns - end_ns > kKeepPastNanos;
    if (!is_old && fits()) continue;
    room.leaving.push_back(id);
    room.for_room += is_old ? 0 : 1;
    left_bytes -= windows_.at(id).message.ByteSizeLong();
  }
  room.fits = fits();
  return room;
}

absl::StatusOr<wire::MaintenanceWindow> MaintenanceBook::Add(wire::MaintenanceWindow wanted, int64_t now_wall_ns) {
  if (wanted.begin_wall_ns() == 0) wanted.set_begin_wall_ns(now_wall_ns);
  RETURN_IF_ERROR(Check(wanted, now_wall_ns));
  MutexLock writing(writing_);
  Room room;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, window] : windows_) {
      if (SaysTheSame(window.message, wanted)) return window.message;
    }
    room = MakeRoom(wanted.ByteSizeLong(), now_wall_ns);
    if (!room.fits) {
      return absl::ResourceExhaustedError(absl::StrCat("there are ", windows_.size() - room.leaving.size(),
                                                       " windows of maintenance: at most ", kMaxWindows, ", of ",
                                                       kMaxBytes, " bytes, are kept"));
    }
    wanted.set_id(windows_.empty() ? 1 : windows_.rbegin()->first + 1);
  }
  wanted.set_created_wall_ns(now_wall_ns);
  RETURN_IF_ERROR(history_.PutMaintenance(wanted, room.leaving));
  MutexLock lock(mutex_);
  for (const uint64_t id : room.leaving) windows_.erase(id);
  if (room.for_room > 0 && on_removed_ != nullptr) on_removed_(room.for_room);
  windows_[wanted.id()] = ToWindow(wanted);
  return wanted;
}

absl::StatusOr<wire::MaintenanceWindow> MaintenanceBook::End(uint64_t id, const std::string& by, int64_t now_wall_ns) {
  MutexLock writing(writing_);
  wire::MaintenanceWindow ended;
  {
    MutexLock lock(mutex_);
    const auto found = windows_.find(id);
    if (found == windows_.end()) return absl::NotFoundError(absl::StrCat("no window of maintenance ", id));
    ended = found->second.message;
  }
  if (ended.end_wall_ns() <= now_wall_ns) return ended;
  ended.set_begin_wall_ns(std::min(ended.begin_wall_ns(), now_wall_ns));
  ended.set_end_wall_ns(now_wall_ns);
  ended.set_ended_by(by);
  RETURN_IF_ERROR(history_.PutMaintenance(ended, {}));
  MutexLock lock(mutex_);
  windows_[id] = ToWindow(ended);
  return ended;
}

bool MaintenanceBook::Covers(const Window& window, const wire::Incident& incident) {
  if (window.jobs.contains(incident.job())) return true;
  const auto& culprits = incident.verdict().culprits();
  return !culprits.empty() && std::all_of(culprits.begin(), culprits.end(), [&](const wire::Culprit& culprit) {
    return window.hosts.contains(culprit.host()) || window.hosts.contains(culprit.peer_host());
  });
}

uint64_t MaintenanceBook::WindowOf(const wire::Incident& incident, int64_t now_wall_ns) const {
  MutexLock lock(mutex_);
  for (const auto& [id, window] : windows_) {
    const bool is_now = window.message.begin_wall_ns() <= now_wall_ns && now_wall_ns < window.message.end_wall_ns();
    if (is_now && Covers(window, incident)) return id;
  }
  return 0;
}

std::vector<wire::MaintenanceWindow> MaintenanceBook::List(bool with_past, int64_t now_wall_ns) const {
  std::vector<wire::MaintenanceWindow> windows;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, window] : windows_) {
      if (with_past || window.message.end_wall_ns() > now_wall_ns) windows.push_back(window.message);
    }
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](const auto& a, const auto& b) { return a.begin_wall_ns() < b.begin_wall_ns(); });
  return windows;
}

}  // namespace lockstep
