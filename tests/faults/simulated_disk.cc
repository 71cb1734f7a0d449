#include "tests/faults/simulated_disk.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/faults/thread_world.h"
#include "tests/faults/trace.h"

namespace lockstep::faults {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr int64_t kAppendNanos = 20'000;
constexpr int64_t kSyncNanos = 2'000'000;
constexpr int64_t kHangLookNanos = 50'000'000;

IOStatus NotFound(const std::string& name) { return IOStatus::PathNotFound(name); }

std::string Normal(const std::string& name) {
  std::string normal;
  for (const char c : name) {
    if (c != '/' || normal.empty() || normal.back() != '/') normal.push_back(c);
  }
  return normal;
}

class NameLock final : public rocksdb::FileLock {
 public:
  explicit NameLock(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
};

}  // namespace

class SimulatedDisk::WritableFile final : public rocksdb::FSWritableFile {
 public:
  WritableFile(SimulatedDisk& disk, std::shared_ptr<Contents> contents) : disk_(disk), contents_(std::move(contents)) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    const IOStatus status = disk_.Pay(/*is_sync=*/false);
    if (!status.ok()) return status;
    MutexLock lock(disk_.mutex_);
    contents_->bytes.append(data.data(), data.size());
    contents_->written.emplace_back(WorldNanos(), contents_->bytes.size());
    return status;
  }
  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    MutexLock lock(disk_.mutex_);
    if (size > contents_->bytes.size()) return IOStatus::OK();
    contents_->bytes.resize(size);
    contents_->on_disk = std::min<size_t>(contents_->on_disk, size);
    return IOStatus::OK();
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    const IOStatus status = disk_.Pay(/*is_sync=*/true);
    MutexLock lock(disk_.mutex_);
    if (!status.ok() || disk_.trouble_.lies) return status;
    contents_->on_disk = contents_->bytes.size();
    contents_->written.clear();
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override { return Sync(options, debug); }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
    MutexLock lock(disk_.mutex_);
    return contents_->bytes.size();
  }

 private:
  SimulatedDisk& disk_;
  const std::shared_ptr<Contents> contents_;
};

class SimulatedDisk::SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  SequentialFile(SimulatedDisk& disk, std::shared_ptr<Contents> contents)
      : disk_(disk), contents_(std::move(contents)) {}

  IOStatus Read(size_t bytes, const IOOptions&, Slice* result, char* scratch, IODebugContext*) override {
    MutexLock lock(disk_.mutex_);
    const size_t taken = std::min(bytes, contents_->bytes.size() - std::min(at_, contents_->bytes.size()));
    if (taken > 0) memcpy(scratch, contents_->bytes.data() + at_, taken);
    at_ += taken;
    *result = Slice(scratch, taken);
    return IOStatus::OK();
  }
  IOStatus Skip(uint64_t bytes) override {
    at_ += bytes;
    return IOStatus::OK();
  }

 private:
  SimulatedDisk& disk_;
  const std::shared_ptr<Contents> contents_;
  size_t at_ = 0;
};

class SimulatedDisk::RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(SimulatedDisk& disk, std::shared_ptr<Contents> contents)
      : disk_(disk), contents_(std::move(contents)) {}

  IOStatus Read(uint64_t at, size_t bytes, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    MutexLock lock(disk_.mutex_);
    const size_t size = contents_->bytes.size();
    const size_t taken = at >= size ? 0 : std::min<size_t>(bytes, size - at);
    if (taken > 0) memcpy(scratch, contents_->bytes.data() + at, taken);
    *result = Slice(scratch, taken);
    return IOStatus::OK();
  }

 private:
  SimulatedDisk& disk_;
  const std::shared_ptr<Contents> contents_;
};

class SimulatedDisk::Directory final : public rocksdb::FSDirectory {
 public:
  explicit Directory(SimulatedDisk& disk) : disk_(disk) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    const IOStatus status = disk_.Pay(/*is_sync=*/true);
    MutexLock lock(disk_.mutex_);
    if (!status.ok() || disk_.trouble_.lies) return status;
    disk_.names_on_disk_ = disk_.files_;
    disk_.names_changed_ns_ = -1;
    return status;
  }

 private:
  SimulatedDisk& disk_;
};

IOStatus SimulatedDisk::Pay(bool is_sync) {
  int64_t cost_ns = is_sync ? kSyncNanos : kAppendNanos;
  DiskTrouble trouble;
  while (true) {
    {
      MutexLock lock(mutex_);
      trouble = trouble_;
    }
    if (!trouble.hangs) break;
    SleepFor(kHangLookNanos);
  }
  SleepFor(cost_ns + trouble.slow_ns);
  if (is_sync) return trouble.fails_syncs ? IOStatus::IOError("simulated: sync") : IOStatus::OK();
  if (trouble.is_full) return IOStatus::NoSpace("simulated");
  return trouble.fails_writes ? IOStatus::IOError("simulated: write") : IOStatus::OK();
}

void SimulatedDisk::WriteBackLocked() {
  const int64_t until_ns = WorldNanos() - kWriteBackNanos;
  for (auto& [name, contents] : files_) {
    while (!contents->written.empty() && contents->written.front().first <= until_ns) {
      contents->on_disk =
          std::min(contents->bytes.size(), std::max(contents->on_disk, contents->written.front().second));
      contents->written.pop_front();
    }
  }
  if (names_changed_ns_ < 0 || names_changed_ns_ > until_ns) return;
  names_on_disk_ = files_;
  names_changed_ns_ = -1;
}

void SimulatedDisk::NoteNamesLocked() {
  if (names_changed_ns_ < 0) names_changed_ns_ = WorldNanos();
}

std::shared_ptr<SimulatedDisk> SimulatedDisk::AfterKill() const {
  auto next = std::make_shared<SimulatedDisk>();
  MutexLock lock(mutex_);
  MutexLock theirs(next->mutex_);
  std::map<const Contents*, std::shared_ptr<Contents>> copies;
  const auto copy = [&copies](const std::shared_ptr<Contents>& contents) {
    std::shared_ptr<Contents>& made = copies[contents.get()];
    if (made == nullptr) made = std::make_shared<Contents>(*contents);
    return made;
  };
  for (const auto& [name, contents] : files_) next->files_[name] = copy(contents);
  for (const auto& [name, contents] : names_on_disk_) next->names_on_disk_[name] = copy(contents);
  next->names_changed_ns_ = names_changed_ns_;
  next->trouble_ = trouble_;
  return next;
}

std::shared_ptr<SimulatedDisk> SimulatedDisk::AfterPowerLoss(Random& random) const {
  std::shared_ptr<SimulatedDisk> next = AfterKill();
  MutexLock lock(next->mutex_);
  next->WriteBackLocked();
  next->files_ = next->names_on_disk_;
  for (auto& [name, contents] : next->files_) {
    const size_t left = contents->bytes.size() - contents->on_disk;
    contents->bytes.resize(contents->on_disk + random.Below(left + 1));
    contents->on_disk = contents->bytes.size();
    contents->written.clear();
  }
  next->names_changed_ns_ = -1;
  return next;
}

void SimulatedDisk::SetTrouble(const DiskTrouble& trouble) {
  MutexLock lock(mutex_);
  trouble_ = trouble;
}

void SimulatedDisk::Corrupt(Random& random) {
  MutexLock lock(mutex_);
  std::vector<std::pair<std::string, Contents*>> found;
  for (auto& [name, contents] : files_) {
    if (!contents->bytes.empty()) found.emplace_back(name, contents.get());
  }
  if (found.empty()) return;
  const auto& [name, contents] = found[random.Below(found.size())];
  char& byte = contents->bytes[random.Below(contents->bytes.size())];
  byte = static_cast<char>(byte ^ (1 << random.Below(8)));
  Trace(absl::StrCat("a bit of ", name.substr(name.rfind('/') + 1), " has changed"));
}

std::shared_ptr<SimulatedDisk::Contents> SimulatedDisk::FindLocked(const std::string& name) const {
  const auto found = files_.find(Normal(name));
  return found == files_.end() ? nullptr : found->second;
}

IOStatus SimulatedDisk::NewSequentialFile(const std::string& name, const rocksdb::FileOptions&,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext*) {
  MutexLock lock(mutex_);
  std::shared_ptr<Contents> contents = FindLocked(name);
  if (contents == nullptr) return NotFound(name);
  *file = std::make_unique<SequentialFile>(*this, std::move(contents));
  return IOStatus::OK();
}

IOStatus SimulatedDisk::NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions&,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext*) {
  MutexLock lock(mutex_);
  std::shared_ptr<Contents> contents = FindLocked(name);
  if (contents == nullptr) return NotFound(name);
  *file = std::make_unique<RandomAccessFile>(*this, std::move(contents));
  return IOStatus::OK();
}

IOStatus SimulatedDisk::NewWritableFile(const std::string& name, const rocksdb::FileOptions&,
                                        std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext*) {
  const IOStatus status = Pay(/*is_sync=*/false);
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  WriteBackLocked();
  NoteNamesLocked();
  auto contents = std::make_shared<Contents>();
  files_[Normal(name)] = contents;
  *file = std::make_unique<WritableFile>(*this, std::move(contents));
  return IOStatus::OK();
}

IOStatus SimulatedDisk::NewDirectory(const std::string&, const IOOptions&,
                                     std::unique_ptr<rocksdb::FSDirectory>* directory, IODebugContext*) {
  *directory = std::make_unique<Directory>(*this);
  return IOStatus::OK();
}

IOStatus SimulatedDisk::FileExists(const std::string& name, const IOOptions&, IODebugContext*) {
  MutexLock lock(mutex_);
  if (FindLocked(name) != nullptr) return IOStatus::OK();
  const std::string prefix = Normal(absl::StrCat(name, "/"));
  const bool is_directory =
      std::any_of(files_.begin(), files_.end(), [&](const auto& file) { return absl::StartsWith(file.first, prefix); });
  return is_directory ? IOStatus::OK() : IOStatus::NotFound(name);
}

IOStatus SimulatedDisk::GetChildren(const std::string& directory, const IOOptions&, std::vector<std::string>* names,
                                    IODebugContext*) {
  names->clear();
  const std::string prefix = Normal(absl::StrCat(directory, "/"));
  MutexLock lock(mutex_);
  for (const auto& [name, contents] : files_) {
    absl::string_view rest = name;
    if (absl::ConsumePrefix(&rest, prefix) && !absl::StrContains(rest, "/")) names->emplace_back(rest);
  }
  return IOStatus::OK();
}

IOStatus SimulatedDisk::DeleteFile(const std::string& name, const IOOptions&, IODebugContext*) {
  MutexLock lock(mutex_);
  WriteBackLocked();
  NoteNamesLocked();
  return files_.erase(Normal(name)) == 1 ? IOStatus::OK() : NotFound(name);
}

IOStatus SimulatedDisk::CreateDir(const std::string&, const IOOptions&, IODebugContext*) { return IOStatus::OK(); }
IOStatus SimulatedDisk::CreateDirIfMissing(const std::string&, const IOOptions&, IODebugContext*) {
  return IOStatus::OK();
}
IOStatus SimulatedDisk::DeleteDir(const std::string&, const IOOptions&, IODebugContext*) { return IOStatus::OK(); }

IOStatus SimulatedDisk::GetFileSize(const std::string& name, const IOOptions&, uint64_t* bytes, IODebugContext*) {
  MutexLock lock(mutex_);
  const std::shared_ptr<Contents> contents = FindLocked(name);
  if (contents == nullptr) return NotFound(name);
  *bytes = contents->bytes.size();
  return IOStatus::OK();
}

IOStatus SimulatedDisk::GetFileModificationTime(const std::string&, const IOOptions&, uint64_t* seconds,
                                                IODebugContext*) {
  *seconds = static_cast<uint64_t>((kFirstWallNanos + WorldNanos()) / kNanosPerSecond);
  return IOStatus::OK();
}

IOStatus SimulatedDisk::RenameFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) {
  MutexLock lock(mutex_);
  WriteBackLocked();
  NoteNamesLocked();
  const auto found = files_.find(Normal(from));
  if (found == files_.end()) return NotFound(from);
  files_[Normal(to)] = found->second;
  files_.erase(Normal(from));
  return IOStatus::OK();
}

IOStatus SimulatedDisk::LockFile(const std::string& name, const IOOptions&, rocksdb::FileLock** lock, IODebugContext*) {
  MutexLock held(mutex_);
  if (!locked_.insert(Normal(name)).second) return IOStatus::IOError(absl::StrCat("lock hold: ", name));
  files_.try_emplace(Normal(name), std::make_shared<Contents>());
  *lock = new NameLock(Normal(name));
  return IOStatus::OK();
}

IOStatus SimulatedDisk::UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) {
  const std::unique_ptr<NameLock> held(static_cast<NameLock*>(lock));
  MutexLock own(mutex_);
  locked_.erase(held->name());
  return IOStatus::OK();
}

IOStatus SimulatedDisk::GetTestDirectory(const IOOptions&, std::string* path, IODebugContext*) {
  path->assign(1, '/');
  return IOStatus::OK();
}

IOStatus SimulatedDisk::GetAbsolutePath(const std::string& path, const IOOptions&, std::string* absolute,
                                        IODebugContext*) {
  *absolute = path;
  return IOStatus::OK();
}

IOStatus SimulatedDisk::IsDirectory(const std::string& path, const IOOptions&, bool* is_directory, IODebugContext*) {
  MutexLock lock(mutex_);
  *is_directory = FindLocked(path) == nullptr;
  return IOStatus::OK();
}

}  // namespace lockstep::faults
