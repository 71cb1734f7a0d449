#include "agent/uplink/resume_keeper.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "agent/resume_point.h"
#include "agent/unique_fd.h"
#include "base/log.h"
#include "proto/resume.pb.h"

namespace lockstep {
namespace {

constexpr char kFileName[] = "/resume_point";

std::string ReadWhole(const std::string& path, size_t max_bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::string text;
  char part[64 << 10];
  while (file.valid() && text.size() <= max_bytes) {
    const ssize_t length = read(file.get(), part, sizeof(part));
    if (length <= 0) break;
    text.append(part, static_cast<size_t>(length));
  }
  return text.size() <= max_bytes ? text : "";
}

absl::Status Replace(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  {
    const UniqueFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.valid()) return absl::ErrnoToStatus(errno, fresh);
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = write(file.get(), text.data() + done, text.size() - done);
      if (written <= 0) return absl::ErrnoToStatus(written < 0 ? errno : ENOSPC, fresh);
      done += static_cast<size_t>(written);
    }
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace

ResumeKeeper::ResumeKeeper(const std::string& directory, std::string boot_id, std::string host)
    : path_(directory.empty() || boot_id.empty() ? "" : directory + kFileName),
      boot_id_(std::move(boot_id)),
      host_(std::move(host)) {
  if (path_.empty()) return;
  wire::KeptResumePoint kept;
  const std::string text = ReadWhole(path_, kMaxFileBytes);
  if (text.empty() || !kept.ParseFromString(text) || kept.boot_id().empty() || kept.host() != host_) return;
  left_ = kept.point().SerializeAsString();
  if (kept.boot_id() != boot_id_) left_ = ResumePointOfAnotherBoot(left_);
}

void ResumeKeeper::Add(uint64_t sequence, std::string point) {
  if (path_.empty() || point.empty()) return;
  if (waiting_.size() == kMaxWaiting) waiting_.pop_front();
  waiting_.emplace_back(sequence, std::move(point));
}

void ResumeKeeper::Survives(uint64_t sequence) {
  std::string newest;
  while (!waiting_.empty() && waiting_.front().first <= sequence) {
    newest = std::move(waiting_.front().second);
    waiting_.pop_front();
  }
  if (!newest.empty()) Store(newest);
}

void ResumeKeeper::Store(const std::string& point) {
  wire::KeptResumePoint kept;
  kept.set_boot_id(boot_id_);
  kept.set_host(host_);
  if (!kept.mutable_point()->ParseFromString(point)) return;
  const absl::Status stored = Replace(path_, kept.SerializeAsString());
  if (stored.ok() || told_) return;
  told_ = true;
  // An agent that somebody tries out has no such folder.
  Log(absl::IsNotFound(stored) ? LogLevel::kInfo : LogLevel::kWarning,
      "how far sources were read cannot be kept: what they say may be missed or told twice",
      {{"status", stored.ToString()}});
}

}  // namespace lockstep
