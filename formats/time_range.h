// Which times a recording can have: sums and differences of two of these, moved by the offset of a host's clock, fit
// into 64 bits. Immutable; thread-safe.

#ifndef LOCKSTEP_FORMATS_TIME_RANGE_H_
#define LOCKSTEP_FORMATS_TIME_RANGE_H_

#include <cstdint>

namespace lockstep {

// 73 years before and behind zero: until 2043 where a clock counts from 1970.
inline constexpr int64_t kMostNanos = int64_t{1} << 61;
inline constexpr int64_t kMostMicros = kMostNanos / 1'000;

constexpr bool IsRecordedTime(int64_t nanos) { return -kMostNanos <= nanos && nanos <= kMostNanos; }

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_TIME_RANGE_H_
