// A disk in memory with a page cache above it, as RocksDB sees both.
//
// What was written is in the page cache: it survives the death of the process and not the loss of power. On the disk
// is what was synced, and what has been in the cache for kWriteBackNanos; of the rest a loss of power keeps a part from
// the beginning of each file. Names of files (made, renamed, removed) are on the disk after a sync of their directory
// or after the same time. Thread-safe; for threads of a ThreadWorld.

#ifndef LOCKSTEP_TESTS_FAULTS_SIMULATED_DISK_H_
#define LOCKSTEP_TESTS_FAULTS_SIMULATED_DISK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "rocksdb/file_system.h"

namespace lockstep::faults {

// What is wrong with a disk. Each alone or together.
struct DiskTrouble {
  bool is_full = false;
  bool fails_writes = false;
  bool fails_syncs = false;
  int64_t slow_ns = 0;  // each write and sync takes so much longer
  bool hangs = false;   // writes and syncs do not return until it is over
  bool lies = false;    // says that it synced and did not
};

class SimulatedDisk final : public rocksdb::FileSystem {
 public:
  // As Linux does by default.
  static constexpr int64_t kWriteBackNanos = 30 * kNanosPerSecond;

  SimulatedDisk() = default;

  // What the next user finds: after the death of a process all that was written, after a loss of power what was on the
  // disk. This one goes on as if nothing had happened, for those who do not know yet that they are dead.
  std::shared_ptr<SimulatedDisk> AfterKill() const;
  std::shared_ptr<SimulatedDisk> AfterPowerLoss(Random& random) const;

  void SetTrouble(const DiskTrouble& trouble);
  // Flips a bit of one of its files.
  void Corrupt(Random& random);

  // rocksdb::FileSystem
  const char* Name() const override { return "SimulatedDisk"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus FileExists(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildren(const std::string& directory, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(const std::string& name, const rocksdb::IOOptions& options, uint64_t* bytes,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileModificationTime(const std::string& name, const rocksdb::IOOptions& options,
                                            uint64_t* seconds, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LockFile(const std::string& name, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetTestDirectory(const rocksdb::IOOptions& options, std::string* path,
                                     rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetAbsolutePath(const std::string& path, const rocksdb::IOOptions& options, std::string* absolute,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus IsDirectory(const std::string& path, const rocksdb::IOOptions& options, bool* is_directory,
                                rocksdb::IODebugContext* debug) override;

 private:
  struct Contents {
    std::string bytes;
    size_t on_disk = 0;                              // of `bytes`, from the beginning
    std::deque<std::pair<int64_t, size_t>> written;  // when, up to where; of what is not on the disk
  };
  using Files = std::map<std::string, std::shared_ptr<Contents>>;
  class WritableFile;
  class SequentialFile;
  class RandomAccessFile;
  class Directory;

  // Takes its time, and says what comes of it.
  rocksdb::IOStatus Pay(bool is_sync);
  void WriteBackLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteNamesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Contents> FindLocked(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Files files_ ABSL_GUARDED_BY(mutex_);
  Files names_on_disk_ ABSL_GUARDED_BY(mutex_);
  int64_t names_changed_ns_ ABSL_GUARDED_BY(mutex_) = -1;  // first change that is not on the disk; -1 = none
  std::set<std::string> locked_ ABSL_GUARDED_BY(mutex_);
  DiskTrouble trouble_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SIMULATED_DISK_H_
