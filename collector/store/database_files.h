// Whether the files of a RocksDB directory belong together, looked at before RocksDB is let in.
//
// RocksDB takes a directory without CURRENT for a new one: it begins anew and deletes what it finds there, on the
// second start at the latest. A file named MANIFEST that is missing is an error of the disk to it, as if trying again
// could help. Both are damage, and nothing may be written then.
//
// Reads names and one small file, writes nothing. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_DATABASE_FILES_H_
#define LOCKSTEP_COLLECTOR_STORE_DATABASE_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace rocksdb {
class Env;
}

namespace lockstep {

// OK for a directory that can be opened, as far as names tell, or in which there is no database yet. DATA_LOSS says
// which file is missing, and what to do.
absl::Status CheckDatabaseFiles(rocksdb::Env& env, const std::string& directory);

// DATA_LOSS for damage of `directory`, with what to do about it.
absl::Status DamagedStore(const std::string& directory, const std::string& what);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_DATABASE_FILES_H_
