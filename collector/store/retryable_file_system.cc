#include "collector/store/retryable_file_system.h"

#include <cstdint>
#include <string>
#include <utility>

namespace lockstep {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus Retryable(IOStatus status) {
  if (status.IsIOError()) status.SetRetryable(true);
  return status;
}

class RetryableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Retryable(FSWritableFileOwnerWrapper::Append(data, options, debug));
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* debug) override {
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
};

class RetryableFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "RetryableFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) override {
    IOStatus status = Retryable(FileSystemWrapper::NewWritableFile(name, options, file, debug));
    if (status.ok()) *file = std::make_unique<RetryableFile>(std::move(*file));
    return status;
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> NewRetryableFileSystem(const std::shared_ptr<rocksdb::FileSystem>& below) {
  return std::make_shared<RetryableFileSystem>(below);
}

}  // namespace lockstep
