#include "agent/sources/rings/process_finder.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/sources/rings/process_status.h"
#include "agent/text_fields.h"

namespace lockstep {

absl::optional<int32_t> InnermostPid(absl::string_view status) {
  absl::optional<absl::string_view> line = StatusLine(status, "NSpid:");
  if (!line.has_value()) return absl::nullopt;
  absl::string_view last;
  int pids = 0;  // from the outermost namespace inwards
  for (absl::string_view field = TakeField(*line); !field.empty(); field = TakeField(*line)) {
    last = field;
    ++pids;
  }
  int32_t pid = 0;
  if (pids < 2 || !absl::SimpleAtoi(last, &pid) || pid <= 0) return absl::nullopt;
  return pid;
}

ProcessFinder::Result ProcessFinder::Find(int32_t pid, uint64_t start_ticks, int64_t now_ns) {
  Result result = Look(pid, start_ticks);
  if (result.answer != Answer::kGone) return result;
  result = LookInNamespaces(pid, start_ticks);
  if (result.answer == Answer::kFound) return result;
  // A scan of this very moment is as good as a new one.
  if (scans_ == 0 || now_ns - scanned_at_ns_ >= kRescanNanos) {
    Scan(now_ns);
    result = LookInNamespaces(pid, start_ticks);
    if (result.answer == Answer::kFound) return result;
  }
  return {complete_ && scanned_at_ns_ == now_ns ? Answer::kGone : Answer::kUndecided, 0, {}};
}

ProcessFinder::Result ProcessFinder::Look(int32_t host_pid, uint64_t start_ticks) const {
  const absl::StatusOr<ProcessStat> stat = ReadProcessStat(root_, host_pid);
  // Only a missing file says that the process is gone; a /proc that cannot be read must not kill anybody.
  if (!stat.ok()) return {absl::IsNotFound(stat.status()) ? Answer::kGone : Answer::kUndecided, 0, {}};
  // The pid has been given to another process since.
  if (start_ticks != 0 && stat->start_ticks != start_ticks) return {Answer::kGone, 0, {}};
  return {Answer::kFound, host_pid, *stat};
}

ProcessFinder::Launcher ProcessFinder::LauncherOf(const ProcessStat& process) const {
  const absl::StatusOr<ProcessStat> parent = ReadProcessStat(root_, process.parent);
  if (!parent.ok()) return {};
  return {process.parent, parent->start_ticks};
}

ProcessFinder::Result ProcessFinder::LookInNamespaces(int32_t pid, uint64_t start_ticks) const {
  const auto [begin, end] = host_pids_.equal_range(pid);
  for (auto candidate = begin; candidate != end; ++candidate) {
    const Result result = Look(candidate->second, start_ticks);
    if (result.answer == Answer::kFound) return result;
  }
  return {};
}

void ProcessFinder::Scan(int64_t now_ns) {
  ++scans_;
  scanned_at_ns_ = now_ns;
  host_pids_.clear();
  const absl::StatusOr<std::vector<std::string>> names = root_.ReadDir("proc");
  complete_ = names.ok();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    int32_t host_pid = 0;
    if (!absl::SimpleAtoi(name, &host_pid) || host_pid <= 0) continue;
    const absl::StatusOr<std::string> status = root_.ReadFile(absl::StrCat("proc/", name, "/status"), kMaxStatusBytes);
    if (status.ok()) {
      const absl::optional<int32_t> pid = InnermostPid(*status);
      if (pid.has_value()) host_pids_.emplace(*pid, host_pid);
    } else if (!absl::IsNotFound(status.status())) {
      complete_ = false;  // one that has ended meanwhile is no loss, one that hides is
    }
  }
}

}  // namespace lockstep
