// A trace as a stream of bytes that ends for a reason: somebody else writes the file, and may do so for ever.

#ifndef LOCKSTEP_AGENT_PROFILES_TRACE_BYTES_H_
#define LOCKSTEP_AGENT_PROFILES_TRACE_BYTES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <istream>
#include <streambuf>
#include <utility>

#include "agent/unique_fd.h"

namespace lockstep {

// Not thread-safe.
class TraceBytes final : public std::streambuf {
 public:
  // Reads at most `max_bytes`, and no more once `is_over` says so. It is asked before each piece.
  TraceBytes(UniqueFd fd, int64_t max_bytes, std::function<bool()> is_over)
      : fd_(std::move(fd)), left_(max_bytes), is_over_(std::move(is_over)) {}

 protected:
  int_type underflow() override;

 private:
  const UniqueFd fd_;
  int64_t left_;
  const std::function<bool()> is_over_;
  std::array<char, 1 << 16> piece_;
};

// The same as a stream that owns its bytes. Not thread-safe.
class TraceStream final : public std::istream {
 public:
  TraceStream(UniqueFd fd, int64_t max_bytes, std::function<bool()> is_over)
      : std::istream(nullptr), bytes_(std::move(fd), max_bytes, std::move(is_over)) {
    rdbuf(&bytes_);
  }

 private:
  TraceBytes bytes_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_PROFILES_TRACE_BYTES_H_
