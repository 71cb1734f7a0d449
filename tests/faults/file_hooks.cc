// The functions of libc by which a spool writes. Of an agent's thread they go to the disk of its machine
// (spool_disk.h), of any other one to libc.

#include <unistd.h>

#include "tests/faults/libc.h"
#include "tests/faults/spool_disk.h"
#include "tests/faults/thread_world.h"

namespace {

using lockstep::faults::InThreadWorld;
using lockstep::faults::OwnSpoolDisk;
using lockstep::faults::SpoolDisk;
namespace libc = lockstep::faults::libc;

// What is written to the terminal is no concern of a disk's.
SpoolDisk* DiskOf(int file) { return InThreadWorld() && file > STDERR_FILENO ? OwnSpoolDisk() : nullptr; }

}  // namespace

namespace lockstep::faults::libc {

ssize_t Write(int file, const void* bytes, size_t count) {
  static decltype(write)* next = nullptr;
  return Next(next, "write")(file, bytes, count);
}

int Sync(int file) {
  static decltype(fsync)* next = nullptr;
  return Next(next, "fsync")(file);
}

}  // namespace lockstep::faults::libc

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  SpoolDisk* const disk = DiskOf(file);
  return disk == nullptr ? libc::Write(file, bytes, count) : disk->Write(file, bytes, count);
}

int fdatasync(int file) {
  SpoolDisk* const disk = DiskOf(file);
  return disk == nullptr ? libc::Sync(file) : disk->Sync(file);
}

int fsync(int file) {
  SpoolDisk* const disk = DiskOf(file);
  return disk == nullptr ? libc::Sync(file) : disk->Sync(file);
}

}  // extern "C"
