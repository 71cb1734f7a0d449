#include "collector/store/retryable_file_system.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "collector/store/rocks_status.h"

namespace lockstep {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus Retryable(IOStatus status) {
  if (!status.IsIOError()) return status;
  if (status.IsNoSpace())
    status = IOStatus::IOError(kNoSpaceText, status.getState() == nullptr ? "" : status.getState());
  status.SetRetryable(true);
  return status;
}

class RetryableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  RetryableFile(std::unique_ptr<rocksdb::FSWritableFile> file, const BeforeWrite& before_write)
      : FSWritableFileOwnerWrapper(std::move(file)), before_write_(before_write) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    before_write_(data.size());
    return Retryable(FSWritableFileOwnerWrapper::Append(data, options, debug));
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* debug) override {
    before_write_(data.size());
    return Retryable(FSWritableFileOwnerWrapper::Append(data, options, info, debug));
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::Flush(options, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::Fsync(options, debug));
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::RangeSync(offset, bytes, options, debug));
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::Truncate(size, options, debug));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::Close(options, debug));
  }

 private:
  const BeforeWrite& before_write_;
};

class RetryableDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  explicit RetryableDirectory(std::unique_ptr<rocksdb::FSDirectory> directory)
      : FSDirectoryWrapper(std::move(directory)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSDirectoryWrapper::Fsync(options, debug));
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& why) override {
    return Retryable(FSDirectoryWrapper::FsyncWithDirOptions(options, debug, why));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSDirectoryWrapper::Close(options, debug));
  }
};

// A write-ahead log that could not be made, and is made when it is written to. RocksDB takes the failure to make one,
// which it does when it recovers, for fatal; one that cannot be written to it tries again.
class LateLog final : public rocksdb::FSWritableFile {
 public:
  LateLog(std::shared_ptr<rocksdb::FileSystem> below, std::string name, const rocksdb::FileOptions& options)
      : below_(std::move(below)), name_(std::move(name)), options_(options) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const IOStatus made = Make(debug);
    return Retryable(made.ok() ? file_->Append(data, options, debug) : made);
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return file_ == nullptr ? IOStatus::OK() : Retryable(file_->Flush(options, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus made = Make(debug);
    return Retryable(made.ok() ? file_->Sync(options, debug) : made);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override { return Sync(options, debug); }
  bool IsSyncThreadSafe() const override { return true; }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return file_ == nullptr ? IOStatus::OK() : Retryable(file_->Close(options, debug));
  }
  uint64_t GetFileSize(const IOOptions& options, IODebugContext* debug) override {
    return file_ == nullptr ? 0 : file_->GetFileSize(options, debug);
  }

 private:
  IOStatus Make(IODebugContext* debug) {
    return file_ == nullptr ? below_->NewWritableFile(name_, options_, &file_, debug) : IOStatus::OK();
  }

  const std::shared_ptr<rocksdb::FileSystem> below_;
  const std::string name_;
  const rocksdb::FileOptions options_;
  std::unique_ptr<rocksdb::FSWritableFile> file_;
};

class RetryableFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  RetryableFileSystem(const std::shared_ptr<rocksdb::FileSystem>& below, BeforeWrite before_write)
      : FileSystemWrapper(below), below_(below), before_write_(std::move(before_write)) {}

  const char* Name() const override { return "RetryableFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) override {
    before_write_(0);
    IOStatus status = Retryable(FileSystemWrapper::NewWritableFile(name, options, file, debug));
    if (status.ok()) {
      *file = std::make_unique<RetryableFile>(std::move(*file), before_write_);
    } else if (status.IsIOError() && absl::EndsWith(name, ".log")) {
      *file = std::make_unique<LateLog>(below_, name, options);
      status = IOStatus::OK();
    }
    return status;
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory, IODebugContext* debug) override {
    IOStatus status = Retryable(FileSystemWrapper::NewDirectory(name, options, directory, debug));
    if (status.ok()) *directory = std::make_unique<RetryableDirectory>(std::move(*directory));
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    return Retryable(FileSystemWrapper::RenameFile(from, to, options, debug));
  }

 private:
  const std::shared_ptr<rocksdb::FileSystem> below_;
  const BeforeWrite before_write_;  // outlives the files
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> NewRetryableFileSystem(const std::shared_ptr<rocksdb::FileSystem>& below,
                                                            BeforeWrite before_write) {
  return std::make_shared<RetryableFileSystem>(below, std::move(before_write));
}

}  // namespace lockstep
