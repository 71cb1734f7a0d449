#include "agent/sources/rings/ring_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/recorder/ring_format.h"
#include "agent/sources/rings/job_fingerprint.h"
#include "agent/sources/rings/kept_operations.h"
#include "agent/sources/rings/process_uids.h"
#include "agent/sources/rings/ring_shares.h"
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

// What can be known of a file without opening it.
RefusedRings::File Describe(int directory, const std::string& name) {
  struct stat status;
  if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {name, {0, 0}, 0};
  return {name, {status.st_dev, status.st_ino}, status.st_uid};
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

// A ring that has filled by one in this many since the last look is busy.
constexpr uint32_t kBusyShare = 16;

}  // namespace

absl::StatusOr<UniqueFd> RingDirectory::OpenDirectory() const {
  UniqueFd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return absl::ErrnoToStatus(errno, path_);
  return directory;
}

wire::RingPositions RingDirectory::positions(int64_t tick_ns) const {
  wire::RingPositions positions;
  positions.set_monotonic_ns(tick_ns);
  // Not yet found again, or not let in yet.
  for (const auto& [name, position] : resumed_) *positions.add_rings() = position;
  for (const auto& [name, ring] : rings_) {
    // A damaged one is read anew from the moment at which it is tried again.
    if (ring.damaged) continue;
    wire::RingPosition& position = *positions.add_rings();
    position.set_file(name);
    ring.reader->Describe(position);
  }
  return positions;
}

void RingDirectory::Resume(const wire::RingPositions& positions) {
  since_ns_ = std::min(since_ns_, positions.monotonic_ns());
  for (const wire::RingPosition& position : positions.rings()) {
    if (resumed_.size() < kMaxRings) resumed_[position.file()] = position;
  }
}

std::unique_ptr<RingReader> RingDirectory::OpenReader(UniqueFd file, const std::string& name, bool* resumes,
                                                      RingRefusal* refusal) {
  auto reader = RingReader::Open(std::move(file), since_ns_, refusal);
  const auto known = resumed_.find(name);
  *resumes = reader != nullptr && known != resumed_.end() && reader->ResumeAt(known->second);
  return reader;
}

absl::Status RingDirectory::Poll(int64_t now_ns) {
  const absl::StatusOr<UniqueFd> directory = OpenDirectory();
  const int fd = directory.ok() ? directory->get() : -1;
  const absl::StatusOr<RingListing> listing = directory.ok() ? ListRings(fd) : directory.status();
  if (listing.ok()) {
    DiscoverAll(fd, *listing, now_ns);
  } else {
    refused_.BeginTick();
  }
  CountOwners();
  for (auto ring = rings_.begin(); ring != rings_.end();) {
    const bool is_followed = Follow(ring->first, now_ns, &ring->second);
    const int64_t gone_at_ns = ring->second.gone_at_ns;
    const bool is_over = gone_at_ns != 0 && now_ns - gone_at_ns >= kGoneNanos;
    if (is_over) RemoveFile(fd, ring->first, ring->second.reader->file().get());
    ring = is_over || !is_followed ? rings_.erase(ring) : std::next(ring);
  }
  // A process may have several rings, and a ring may be refused after its process was found.
  std::set<int32_t> followed;
  for (const auto& [name, ring] : rings_) {
    if (ring.gone_at_ns == 0) followed.insert(ring.host_pid);
  }
  exits_.Retain(followed);
  return listing.status();
}

void RingDirectory::DiscoverAll(int directory, const RingListing& listing, int64_t now_ns) {
  if (listing.is_complete) {
    refused_.BeginTick(listing.names);
    for (auto known = resumed_.begin(); known != resumed_.end();) {
      const bool is_there = std::binary_search(listing.names.begin(), listing.names.end(), known->first);
      known = is_there ? std::next(known) : resumed_.erase(known);
    }
  } else {
    refused_.BeginTick();
  }
  std::vector<const std::string*> due;
  for (const std::string& name : listing.names) {
    if (rings_.count(name) == 0 && refused_.IsDue(name, now_ns)) due.push_back(&name);
  }
  // In turns: files that somebody keeps making must not hide those behind them.
  const auto next =
      std::partition_point(due.begin(), due.end(), [this](const std::string* name) { return *name <= last_look_; });
  std::rotate(due.begin(), next, due.end());
  waiting_ = listing.is_complete ? 0 : 1;
  for (size_t i = 0; i < due.size(); ++i) {
    if (i >= kMaxLooksPerPoll) {
      ++waiting_;
      continue;
    }
    last_look_ = *due[i];
    Discover(directory, *due[i], now_ns);
  }
}

void RingDirectory::CountOwners() {
  owners_.clear();
  // Nothing is kept of anybody at the end of a Poll.
  for (const auto& [name, ring] : rings_) ++owners_[ring.owner].rings;
  for (auto& [uid, owner] : owners_) owner.read_ahead = FairShare(kMaxReadAheadPerTick, owners_.size(), 1);
}

RingAllowance RingDirectory::AllowanceOf(const FollowedRing& ring) const {
  const auto owner = owners_.find(ring.owner);
  return FairAllowance(owners_.size(), owner == owners_.end() ? 1 : owner->second.rings);
}

bool RingDirectory::KeepUp() {
  bool is_any_busy = false;
  for (auto& [name, ring] : rings_) {
    if (ring.gone_at_ns != 0 || ring.damaged) continue;
    const uint64_t backlog = ring.reader->Backlog();
    if (backlog < ring.reader->header().operation_capacity / kBusyShare) continue;
    uint64_t& left = owners_[ring.owner].read_ahead;
    const uint64_t cost = std::min(backlog, AllowanceOf(ring).operations);
    if (left < cost) continue;
    left -= cost;
    Keep(ring);
    is_any_busy = true;
  }
  return is_any_busy;
}

void RingDirectory::Keep(FollowedRing& ring) {
  RingSnapshot now;
  if (!ring.reader->Poll(&now, AllowanceOf(ring)).ok()) return;  // the next Poll will say so
  Owner& owner = owners_[ring.owner];
  const size_t before = ring.kept.finished.size();
  AppendLater(now, ring.kept);
  owner.kept += ring.kept.finished.size() - before;
  kept_ += ring.kept.finished.size() - before;
  while (kept_ > kMaxKept) {
    FollowedRing& fullest = Fullest();
    const size_t all = fullest.kept.finished.size();
    ThinKept(fullest.kept);
    kept_ -= all - fullest.kept.finished.size();
    owners_[fullest.owner].kept -= all - fullest.kept.finished.size();
  }
}

FollowedRing& RingDirectory::Fullest() {
  const auto owner = std::max_element(owners_.begin(), owners_.end(),
                                      [](const auto& a, const auto& b) { return a.second.kept < b.second.kept; });
  const auto kept_of = [owner](const FollowedRing& ring) {
    return ring.owner == owner->first ? ring.kept.finished.size() : 0;
  };
  return std::max_element(rings_.begin(), rings_.end(),
                          [&kept_of](const auto& a, const auto& b) { return kept_of(a.second) < kept_of(b.second); })
      ->second;
}

absl::StatusOr<int> RingDirectory::RequestEvents(const std::set<std::string>& jobs, absl::Span<const int32_t> ranks,
                                                 uint64_t mask, int64_t now_ns, int64_t duration_ns) const {
  ASSIGN_OR_RETURN(const UniqueFd directory, OpenDirectory());
  int asked = 0;
  absl::Status failure = absl::UnavailableError("no recorder of NCCL's profiler interface among the ranks");
  for (const auto& [name, ring] : rings_) {
    const ring::RingHeader& header = ring.reader->header();
    const bool is_meant = ranks.empty() || std::find(ranks.begin(), ranks.end(), header.rank) != ranks.end();
    const bool can = header.recorder_kind == static_cast<uint32_t>(ring::RecorderKind::kNcclProfiler) &&
                     ring.gone_at_ns == 0 && !ring.damaged;
    if (jobs.count(ring.job) == 0 || !is_meant || !can) continue;
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
  UniqueFd opened(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const RefusedRings::File file = Describe(directory, name);
  if (!opened.valid()) {
    if (file.id != FileId{0, 0}) Refuse(file, {RingRefusalReason::kUnreadable, "cannot be opened"}, now_ns);
    return;
  }
  // Another file has just taken the name: the next tick knows more.
  if (IdOf(opened.get()) != file.id) return;
  RingRefusal refusal;
  FollowedRing ring;
  ring.owner = file.owner;
  bool resumes = false;
  ring.reader = OpenReader(std::move(opened), name, &resumes, &refusal);
  if (ring.reader == nullptr) return Refuse(file, refusal, now_ns);
  const ring::RingHeader header = ring.reader->header();  // a copy: the reader may be replaced below
  ring.job = RingText(header.job);
  const ProcessFinder::Result process = finder_.Find(header.pid, header.process_start_ticks, now_ns);
  ring.host_pid = process.host_pid;
  if (process.answer == ProcessFinder::Answer::kGone) {
    RingSnapshot last;
    const absl::Status read = ring.reader->Poll(&last);
    const int64_t last_ns = LastSignOfLifeNs(*ring.reader, last);
    // What it did last is news if the agent before us has not told it.
    const bool has_news = resumes && (!last.finished.empty() || last.overwritten + last.skipped > 0);
    if (!read.ok() || last_ns > now_ns || (last_ns < now_ns - kGoneNanos && !has_news)) {
      RemoveFile(directory, name, ring.reader->file().get());
      return;
    }
    // It died in these seconds: look at it again, from the beginning, as at any other.
    ring.reader = OpenReader(UniqueFd(dup(ring.reader->file().get())), name, &resumes, &refusal);
    if (ring.reader == nullptr) return;
  }
  refusal = CheckOwner(ring);
  if (refusal.reason == RingRefusalReason::kNone && !HasRoomFor(ring)) {
    refusal = {RingRefusalReason::kTooMany, "more rings or jobs than an agent follows, in all or of one user"};
  }
  if (refusal.reason != RingRefusalReason::kNone) return Refuse(file, refusal, now_ns);
  refused_.Forget(name);
  resumed_.erase(name);
  Log(LogLevel::kInfo, "following a recorder",
      {{"file", name},
       {"job", ring.job},
       {"rank", std::to_string(header.rank)},
       {"pid", std::to_string(header.pid)},
       {"host_pid", std::to_string(ring.host_pid)}});
  rings_.emplace(name, std::move(ring));
}

void RingDirectory::Refuse(const RefusedRings::File& file, const RingRefusal& refusal, int64_t now_ns) {
  if (!refused_.Refuse(file, refusal, now_ns)) ++waiting_;
}

RingRefusal RingDirectory::CheckOwner(const FollowedRing& ring) const {
  if (ring.host_pid == 0) return {};
  const absl::StatusOr<ProcessUids> uids = finder_.Uids(ring.host_pid);
  if (!uids.ok()) {
    return {RingRefusalReason::kForeignOwner,
            absl::StrCat("the user of process ", ring.host_pid, " is not known: ", uids.status().message())};
  }
  if (std::find(uids->begin(), uids->end(), ring.owner) != uids->end()) return {};
  return {RingRefusalReason::kForeignOwner,
          absl::StrCat("user ", ring.owner, " owns the file, user ", (*uids)[0], " the process ", ring.host_pid)};
}

bool RingDirectory::Follow(const std::string& name, int64_t now_ns, FollowedRing* ring) {
  if (ring->gone_at_ns != 0) {
    ring->snapshot.finished.clear();
    ring->snapshot.thinned = ring->snapshot.overwritten = ring->snapshot.skipped = ring->snapshot.malformed = 0;
    ring->snapshot.communicators_left_out = ring->snapshot.transfers_left_out = 0;
    return true;
  }
  // The process first: what it wrote before it was found dead is then certainly in the last look.
  const int32_t known_pid = ring->host_pid;
  FindProcess(now_ns, ring);
  FindPod(now_ns, ring);
  if (known_pid == 0) {
    if (const RingRefusal refusal = CheckOwner(*ring); refusal.reason != RingRefusalReason::kNone) {
      TakeKept(*ring);
      Refuse({name, IdOf(ring->reader->file().get()), ring->owner}, refusal, now_ns);
      return false;
    }
  }
  if (ring->damaged && now_ns >= ring->try_again_ns) {
    RingRefusal refusal;
    // What was read of it before must not be told twice.
    auto reader = RingReader::Open(UniqueFd(dup(ring->reader->file().get())), now_ns, &refusal);
    ring->damaged = reader == nullptr;
    ring->try_again_ns = now_ns + RefusedRings::PauseNanos(ring->tries++);
    if (reader != nullptr) ring->reader = std::move(reader);
  }
  if (!ring->damaged) Read(name, now_ns, ring);
  return true;
}

void RingDirectory::Read(const std::string& name, int64_t now_ns, FollowedRing* ring) {
  const absl::Status status = ring->reader->Poll(&ring->snapshot, AllowanceOf(*ring));
  if (!status.ok()) return Damage(name, status, now_ns, ring);
  RingSnapshot kept = std::exchange(ring->kept, {});
  kept_ -= kept.finished.size();
  AppendLater(ring->snapshot, kept);
  ring->snapshot.finished = std::move(kept.finished);
  ring->snapshot.stride = kept.stride;
  ring->snapshot.thinned = kept.thinned;
  ring->snapshot.overwritten = kept.overwritten;
  ring->snapshot.skipped = kept.skipped;
  ring->snapshot.malformed = kept.malformed;
  if (ring->job.empty() && !WaitsForPod(*ring, now_ns)) NameJob(name, now_ns, ring);
}

void RingDirectory::NameJob(const std::string& name, int64_t now_ns, FollowedRing* ring) const {
  std::string job = JobFingerprint(ring->reader->header(), ring->snapshot.communicators, now_ns);
  if (job.empty()) return;
  if (!HasRoomForJob(job, ring->owner)) return;
  ring->job = std::move(job);
  Log(LogLevel::kInfo, "a job without a name has that of its communicator", {{"file", name}, {"job", ring->job}});
}

void RingDirectory::Damage(const std::string& name, const absl::Status& why, int64_t now_ns, FollowedRing* ring) {
  TakeKept(*ring);
  ring->damaged = true;
  ring->try_again_ns = now_ns + RefusedRings::PauseNanos(ring->tries++);
  ring->snapshot = {};
  refused_.CountDamaged(name, std::string(why.message()));
}

void RingDirectory::TakeKept(FollowedRing& ring) {
  kept_ -= ring.kept.finished.size();
  ring.kept = {};
}

void RingDirectory::FindProcess(int64_t now_ns, FollowedRing* ring) {
  const ring::RingHeader& header = ring->reader->header();
  const ProcessFinder::Result result = ring->host_pid != 0
                                           ? finder_.Look(ring->host_pid, header.process_start_ticks)
                                           : finder_.Find(header.pid, header.process_start_ticks, now_ns);
  if (result.answer == ProcessFinder::Answer::kGone) {
    ring->process = absl::nullopt;
    ring->gone_at_ns = now_ns;
    NoteEnd(now_ns, ring);
    return;
  }
  ring->process = result.stat;
  if (result.answer != ProcessFinder::Answer::kFound) return;
  ring->host_pid = result.host_pid;
  // Once: who outlives its launcher has another parent.
  if (ring->alive_at_ns == 0) ring->launcher = finder_.LauncherOf(result.stat);
  if (result.stat.state == 'Z') return NoteEnd(now_ns, ring);
  ring->alive_at_ns = now_ns;
  exits_.Add(ring->host_pid, now_ns);
}

void RingDirectory::FindPod(int64_t now_ns, FollowedRing* ring) {
  if (ring->is_pod_known || ring->host_pid == 0 || now_ns < ring->find_pod_ns) return;
  PodTable::Result result = pods_.Find(ring->host_pid, now_ns);
  ring->is_pod_known = result.answer != PodTable::Answer::kNotYet;
  ring->pod = std::move(result.pod);
  if (!WaitsForPod(*ring, now_ns)) ring->find_pod_ns = now_ns + kFindPodNanos;
}

// The collector puts the namespace before such a name, which it makes of the first report.
bool RingDirectory::WaitsForPod(const FollowedRing& ring, int64_t now_ns) {
  const bool is_late = ring.gone_at_ns != 0 || now_ns - ring.reader->header().opened_at_ns >= kSettledNanos;
  return !ring.is_pod_known && !is_late;
}

// When it was first seen, the moment that is told of the end; what is told of how comes later with some kernels.
void RingDirectory::NoteEnd(int64_t now_ns, FollowedRing* ring) {
  if (ring->end.has_value() && ring->end->source != ExitSource::kNone) return;
  if (absl::optional<ProcessExit> known = exits_.Of(ring->host_pid, now_ns)) {
    ring->end = *known;
  } else if (!ring->end.has_value()) {
    const int64_t alive_ns =
        ring->alive_at_ns != 0 ? ring->alive_at_ns : LastSignOfLifeNs(*ring->reader, ring->snapshot);
    ring->end.emplace();
    ring->end->at_ns = now_ns;
    ring->end->uncertain_ns = now_ns - std::clamp<int64_t>(alive_ns, 0, now_ns);
  }
}

bool RingDirectory::HasRoomFor(const FollowedRing& candidate) const {
  const auto owned = std::count_if(rings_.begin(), rings_.end(),
                                   [&](const auto& ring) { return ring.second.owner == candidate.owner; });
  return rings_.size() < kMaxRings && static_cast<size_t>(owned) < kMaxRingsPerOwner &&
         HasRoomForJob(candidate.job, candidate.owner);
}

bool RingDirectory::HasRoomForJob(const std::string& job, uint32_t owner) const {
  std::set<absl::string_view> jobs = {job};
  std::set<absl::string_view> owned_jobs = {job};
  for (const auto& [name, ring] : rings_) {
    jobs.insert(ring.job);
    if (ring.owner == owner) owned_jobs.insert(ring.job);
  }
  return jobs.size() <= kMaxJobs && owned_jobs.size() <= kMaxJobsPerOwner;
}

size_t RingDirectory::without_job() const {
  return std::count_if(rings_.begin(), rings_.end(), [](const auto& ring) { return ring.second.job.empty(); });
}

}  // namespace lockstep
