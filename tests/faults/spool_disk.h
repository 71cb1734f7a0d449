// What is wrong with the disks of agents, below their spools, whose files are real ones: file_hooks.cc sends the writes
// and syncs of each agent's machine through its disk.
//
// On the disk is what was synced, bytes and names. A loss of power keeps a part of the rest, from the beginning of each
// file; what it takes may be gone, or read as zeros. Names that were removed are taken to be gone at once. Not
// thread-safe: threads of a ThreadWorld never call it at the same time.

#ifndef LOCKSTEP_TESTS_FAULTS_SPOOL_DISK_H_
#define LOCKSTEP_TESTS_FAULTS_SPOOL_DISK_H_

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "tests/faults/simulated_disk.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

class SpoolDisk {
 public:
  // The disk of that machine, with its one folder. `forgets_syncs` breaks it on purpose.
  SpoolDisk(Machine machine, std::string folder, bool forgets_syncs);
  ~SpoolDisk();
  SpoolDisk(const SpoolDisk&) = delete;
  SpoolDisk& operator=(const SpoolDisk&) = delete;

  void SetTrouble(const DiskTrouble& trouble) { trouble_ = trouble; }
  // The files become what a machine finds that comes up again.
  void LosePower(Random& random);

  // For file_hooks.cc: as write, fdatasync and fsync.
  ssize_t Write(int file, const void* bytes, size_t count);
  int Sync(int file);

 private:
  const Machine machine_;
  const std::string folder_;
  const bool forgets_syncs_;
  DiskTrouble trouble_;
  bool has_taken_half_ = false;                // of what it has no room for
  std::map<std::string, off_t> synced_bytes_;  // by path of a segment
  std::set<std::string> synced_names_;         // likewise
};

// Of the calling thread's machine; nullptr = it has none.
SpoolDisk* OwnSpoolDisk();

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SPOOL_DISK_H_
