// A file descriptor that is closed when its owner goes away.

#ifndef LOCKSTEP_AGENT_UNIQUE_FD_H_
#define LOCKSTEP_AGENT_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace lockstep {

// Owns a descriptor, or none (-1). Movable. Thread-compatible.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // Gives the descriptor up to the caller.
  int Release() { return std::exchange(fd_, -1); }

  void Reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UNIQUE_FD_H_
