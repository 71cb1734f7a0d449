// A file that takes space while there is some, to be given up when there is none: to let history go, RocksDB has to
// write a few bytes first.
//
// Not thread-safe. On the file system of the operating system alone.

#ifndef LOCKSTEP_COLLECTOR_STORE_SPACE_RESERVE_H_
#define LOCKSTEP_COLLECTOR_STORE_SPACE_RESERVE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "base/mutex.h"

namespace lockstep {

class SpaceReserve {
 public:
  // Finds what an earlier life has left. 0 bytes: never takes any.
  SpaceReserve(const std::string& directory, uint64_t bytes);

  uint64_t bytes() const { return bytes_; }
  bool is_held() const { return is_held_.load(); }

  // Takes the space, if there is as much. Whether it is held then.
  bool Take();
  void GiveUp();

 private:
  const std::string path_;
  const uint64_t bytes_;
  Mutex mutex_;  // of whoever touches the file
  std::atomic<bool> is_held_{false};
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_SPACE_RESERVE_H_
