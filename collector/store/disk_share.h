// What history may keep free and in reserve on the disk that it is on: no more than a sixth of it each.
//
// Limits that suit a disk of a machine would keep a small volume short of space for ever. Looks at the file system.

#ifndef LOCKSTEP_COLLECTOR_STORE_DISK_SHARE_H_
#define LOCKSTEP_COLLECTOR_STORE_DISK_SHARE_H_

#include "collector/store/rocks_store.h"

namespace lockstep {

// `options` as they are for an environment of the caller's, and where the size of the disk is not known.
RocksStoreOptions FittedToDisk(const RocksStoreOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_DISK_SHARE_H_
