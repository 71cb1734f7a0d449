#include "agent/profiles/trace_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace lockstep {

TraceBytes::int_type TraceBytes::underflow() {
  if (left_ <= 0 || is_over_()) return traits_type::eof();
  const size_t wanted = std::min(piece_.size(), static_cast<size_t>(left_));
  ssize_t got = 0;
  do {
    got = read(fd_.get(), piece_.data(), wanted);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return traits_type::eof();
  left_ -= got;
  setg(piece_.data(), piece_.data(), piece_.data() + got);
  return traits_type::to_int_type(piece_[0]);
}

}  // namespace lockstep
