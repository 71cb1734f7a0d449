// A file system under which RocksDB can recover from an I/O error of the disk.
//
// RocksDB gives up for good after an error that it does not know to be retryable, and for the real file system only a
// full disk is. But what it does to recover, flushing its memory to new files, is right after any failed write: nothing
// of the failed file is used again. So every error while writing, of files and of the names that directories hold, is
// marked retryable here, and Resume() may be asked.
// A full disk is an error like others, with words of its own (rocks_status.h): RocksDB has a thread that recovers from
// that one by itself, and when Resume() does the same at that moment, both wait for each other's flush for ever. A
// write-ahead log that cannot be made is made when it is written to: to RocksDB that would be the end.
//
// Thread-safe, as the file system below.

#ifndef LOCKSTEP_COLLECTOR_STORE_RETRYABLE_FILE_SYSTEM_H_
#define LOCKSTEP_COLLECTOR_STORE_RETRYABLE_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "rocksdb/file_system.h"

namespace lockstep {

// Called before so many bytes are appended to a file, or one is made: the last moment to make room. After an append
// that found none nobody knows how much of it is there.
using BeforeWrite = std::function<void(uint64_t bytes)>;

std::shared_ptr<rocksdb::FileSystem> NewRetryableFileSystem(const std::shared_ptr<rocksdb::FileSystem>& below,
                                                            BeforeWrite before_write);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_RETRYABLE_FILE_SYSTEM_H_
