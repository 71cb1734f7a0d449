#include "agent/sources/rings/ring_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/ring_text.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

std::pair<uint64_t, uint64_t> IdOf(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

// Removes `name` if it is still the file that `fd` has open.
void RemoveFile(int directory, const std::string& name, int fd) {
  struct stat status;
  const bool same = fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    std::pair<uint64_t, uint64_t>(status.st_dev, status.st_ino) == IdOf(fd);
  if (!same) return;
  if (unlinkat(directory, name.c_str(), 0) != 0) {
    Log(LogLevel::kWarning, "cannot remove the ring of a dead process", {{"file", name}});
  }
}

// The last moment at which the recorder is known to have lived.
int64_t LastSignOfLifeNs(const RingReader& reader, const RingSnapshot& snapshot) {
  int64_t last_ns = reader.header().opened_at_ns;
  for (const RingCommunicator& communicator : snapshot.communicators) {
    last_ns = std::max(last_ns, communicator.entry.changed_at_ns);
  }
  return last_ns;
}

constexpr uint32_t kMaxKeptStride = 1u << 20;
// A ring that has filled by one in this many since the last look is busy.
constexpr uint32_t kBusyShare = 16;

// Leaves out what is no multiple of the stride, which has just grown.
void Thin(RingSnapshot& kept) {
  const auto is_left_out = [&kept](const ring::OperationSlot& operation) {
    return operation.sequence % kept.stride != 0;
  };
  const auto end = std::remove_if(kept.finished.begin(), kept.finished.end(), is_left_out);
  kept.thinned += static_cast<uint64_t>(kept.finished.end() - end);
  kept.finished.erase(end, kept.finished.end());
}

// The operations and counts of `later` behind those of `kept`.
void Append(const RingSnapshot& later, RingSnapshot& kept) {
  const auto is_kept = [&kept](const ring::OperationSlot& operation) { return operation.sequence % kept.stride == 0; };
  const size_t before = kept.finished.size();
  std::copy_if(later.finished.begin(), later.finished.end(), std::back_inserter(kept.finished), is_kept);
  kept.thinned += later.finished.size() - (kept.finished.size() - before);
  kept.overwritten += later.overwritten;
  kept.malformed += later.malformed;
}

}  // namespace

absl::StatusOr<UniqueFd> RingDirectory::OpenDirectory() const {
  UniqueFd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return absl::ErrnoToStatus(errno, path_);
  return directory;
}

absl::Status RingDirectory::Poll(int64_t now_ns) {
  const absl::StatusOr<UniqueFd> directory = OpenDirectory();
  std::vector<std::string> names;
  if (directory.ok()) {
    ASSIGN_OR_RETURN(const RootedFs listing, RootedFs::Open(path_));
    ASSIGN_OR_RETURN(names, listing.ReadDir("."));
  }
  const int fd = directory.ok() ? directory->get() : -1;
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ring::kFileSuffix) && name[0] != '.' && rings_.count(name) == 0) {
      Discover(fd, name, now_ns);
    }
  }
  ForgetVanishedFiles(names);
  for (auto ring = rings_.begin(); ring != rings_.end();) {
    Follow(fd, ring->first, now_ns, &ring->second);
    const int64_t gone_at_ns = ring->second.gone_at_ns;
    if (gone_at_ns != 0 && now_ns - gone_at_ns >= kGoneNanos) {
      RemoveFile(fd, ring->first, ring->second.reader->file().get());
      ring = rings_.erase(ring);
    } else {
      ++ring;
    }
  }
  return directory.ok() ? absl::OkStatus() : directory.status();
}

bool RingDirectory::KeepUp() {
  bool is_any_busy = false;
  for (auto& [name, ring] : rings_) {
    const bool is_followed = ring.gone_at_ns == 0 && !ring.damaged;
    if (!is_followed || ring.reader->Backlog() < ring.reader->header().operation_capacity / kBusyShare) continue;
    Keep(ring);
    is_any_busy = true;
  }
  return is_any_busy;
}

void RingDirectory::Keep(FollowedRing& ring) {
  RingSnapshot now;
  if (!ring.reader->Poll(&now).ok()) return;  // the next Poll will say so
  RingSnapshot& kept = ring.kept;
  kept_ -= kept.finished.size();
  Append(now, kept);
  while (kept_ + kept.finished.size() > kMaxKept && kept.stride < kMaxKeptStride) {
    kept.stride *= 2;
    Thin(kept);
  }
  kept_ += kept.finished.size();
}

absl::StatusOr<int> RingDirectory::RequestEvents(const std::string& job, absl::Span<const int32_t> ranks, uint64_t mask,
                                                 int64_t now_ns, int64_t duration_ns) const {
  ASSIGN_OR_RETURN(const UniqueFd directory, OpenDirectory());
  int asked = 0;
  absl::Status failure = absl::UnavailableError("no recorder of NCCL's profiler interface among the ranks");
  for (const auto& [name, ring] : rings_) {
    const ring::RingHeader& header = ring.reader->header();
    const bool is_meant = ranks.empty() || std::find(ranks.begin(), ranks.end(), header.rank) != ranks.end();
    const bool can = header.recorder_kind == static_cast<uint32_t>(ring::RecorderKind::kNcclProfiler) &&
                     ring.gone_at_ns == 0 && !ring.damaged;
    if (ring.job != job || !is_meant || !can) continue;
    const UniqueFd file(openat(directory.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() || IdOf(file.get()) != IdOf(ring.reader->file().get())) {
      failure = absl::UnavailableError("a ring cannot be opened for writing");
      continue;
    }
    const absl::Status status = ring.reader->RequestEvents(file, mask, now_ns + duration_ns);
    asked += status.ok() ? 1 : 0;
    if (!status.ok()) failure = status;
  }
  if (asked == 0) return failure;
  return asked;
}

void RingDirectory::Discover(int directory, const std::string& name, int64_t now_ns) {
  // O_NONBLOCK: a pipe of that name must not stop the agent.
  UniqueFd file(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const FileId id = file.valid() ? IdOf(file.get()) : FileId{0, 0};
  const auto refused = refused_files_.find(name);
  if (refused != refused_files_.end() && refused->second == id) return;
  if (!file.valid()) {
    if (errno != ENOENT) Refuse(name, id, {RingRefusalReason::kUnreadable, "cannot be opened"});
    return;
  }
  RingRefusal refusal;
  FollowedRing ring;
  ring.reader = RingReader::Open(std::move(file), since_ns_, &refusal);
  if (ring.reader == nullptr) {
    if (refusal.reason != RingRefusalReason::kInitializing) Refuse(name, id, refusal);
    return;
  }
  const ring::RingHeader header = ring.reader->header();  // a copy: the reader may be replaced below
  ring.job = RingText(header.job);
  const ProcessFinder::Result process = finder_.Find(header.pid, header.process_start_ticks, now_ns);
  ring.host_pid = process.host_pid;
  if (process.answer == ProcessFinder::Answer::kGone) {
    RingSnapshot last;
    const absl::Status read = ring.reader->Poll(&last);
    const int64_t last_ns = LastSignOfLifeNs(*ring.reader, last);
    if (!read.ok() || last_ns > now_ns || last_ns < now_ns - kGoneNanos) {
      RemoveFile(directory, name, ring.reader->file().get());
      return;
    }
    // It died in these seconds: look at it again, from the beginning, as at any other.
    ring.reader = RingReader::Open(UniqueFd(dup(ring.reader->file().get())), since_ns_, &refusal);
    if (ring.reader == nullptr) return;
  }
  if (!HasRoomFor(ring.job)) {
    Refuse(name, id, {RingRefusalReason::kTooMany, "more rings or jobs than an agent follows"});
    return;
  }
  Log(LogLevel::kInfo, "following a recorder",
      {{"file", name},
       {"job", ring.job},
       {"rank", std::to_string(header.rank)},
       {"pid", std::to_string(header.pid)},
       {"host_pid", std::to_string(ring.host_pid)}});
  rings_.emplace(name, std::move(ring));
}

void RingDirectory::Refuse(const std::string& name, FileId id, const RingRefusal& refusal) {
  // Without a place to remember it, the file is refused in silence rather than logged in every tick.
  if (refused_files_.size() >= kMaxRefusedFiles && refused_files_.count(name) == 0) return;
  refused_files_[name] = id;
  ++refused_[static_cast<size_t>(refusal.reason)];
  Log(LogLevel::kWarning, "ring refused",
      {{"file", name}, {"reason", std::string(RingRefusalName(refusal.reason))}, {"detail", refusal.detail}});
}

void RingDirectory::Follow(int directory, const std::string& name, int64_t now_ns, FollowedRing* ring) {
  if (ring->gone_at_ns != 0) {
    ring->snapshot.finished.clear();
    ring->snapshot.thinned = 0;
    ring->snapshot.overwritten = ring->snapshot.malformed = 0;
    return;
  }
  // The process first: what it wrote before it was found dead is then certainly in the last look.
  FindProcess(now_ns, ring);
  if (ring->damaged) return;
  const absl::Status status = ring->reader->Poll(&ring->snapshot);
  if (status.ok()) {
    RingSnapshot kept = std::exchange(ring->kept, {});
    kept_ -= kept.finished.size();
    Append(ring->snapshot, kept);
    ring->snapshot.finished = std::move(kept.finished);
    ring->snapshot.stride = kept.stride;
    ring->snapshot.thinned = kept.thinned;
    ring->snapshot.overwritten = kept.overwritten;
    ring->snapshot.malformed = kept.malformed;
    return;
  }
  kept_ -= ring->kept.finished.size();
  ring->kept = {};
  ring->damaged = true;
  ring->snapshot = {};
  ++refused_[static_cast<size_t>(RingRefusalReason::kBadGeometry)];
  Log(LogLevel::kWarning, "ring no longer read", {{"file", name}, {"detail", std::string(status.message())}});
}

void RingDirectory::FindProcess(int64_t now_ns, FollowedRing* ring) {
  const ring::RingHeader& header = ring->reader->header();
  const ProcessFinder::Result result = ring->host_pid != 0
                                           ? finder_.Look(ring->host_pid, header.process_start_ticks)
                                           : finder_.Find(header.pid, header.process_start_ticks, now_ns);
  if (result.answer == ProcessFinder::Answer::kGone) {
    ring->process = absl::nullopt;
    ring->gone_at_ns = now_ns;
    return;
  }
  ring->process = result.stat;
  if (result.answer == ProcessFinder::Answer::kFound) ring->host_pid = result.host_pid;
}

bool RingDirectory::HasRoomFor(const std::string& job) const {
  if (rings_.size() >= kMaxRings) return false;
  std::set<absl::string_view> jobs = {job};
  for (const auto& [name, ring] : rings_) jobs.insert(ring.job);
  return jobs.size() <= kMaxJobs;
}

void RingDirectory::ForgetVanishedFiles(const std::vector<std::string>& names) {
  for (auto file = refused_files_.begin(); file != refused_files_.end();) {
    file = std::binary_search(names.begin(), names.end(), file->first) ? std::next(file) : refused_files_.erase(file);
  }
}

}  // namespace lockstep
