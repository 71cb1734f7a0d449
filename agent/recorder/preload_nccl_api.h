// The little of NCCL's C interface that the preloaded recorder stands in front of, declared anew: handles are opaque,
// enumerations are ints, so that one build fits NCCL 2.4 to today. Results and numbers below are part of NCCL's stable
// binary interface. Immutable; thread-safe.

#ifndef LOCKSTEP_AGENT_RECORDER_PRELOAD_NCCL_API_H_
#define LOCKSTEP_AGENT_RECORDER_PRELOAD_NCCL_API_H_

#include <cstdint>

namespace lockstep::ring::nccl {

using Communicator = void*;
using Stream = void*;
using Config = void*;  // a pointer to ncclConfig_t, whose layout differs between releases

// Made by one rank and brought to the others by the program: equal on all members of a communicator, and on no other.
struct UniqueId {
  char bytes[128];
};

inline constexpr int kSuccess = 0;
inline constexpr int kInvalidUsage = 5;
inline constexpr int kInProgress = 7;  // of communicators that were made non-blocking

inline constexpr int kFirstVersionWithProfiler = 22300;  // of ncclGetVersion: 2.23

// Bytes of one element of an ncclDataType_t; 0 = a type that we do not know.
constexpr uint32_t DatatypeBytes(int type) {
  // int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16 float8e4m3 float8e5m2
  constexpr uint8_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < static_cast<int>(sizeof(kBytes)) ? kBytes[type] : 0;
}

}  // namespace lockstep::ring::nccl

#endif  // LOCKSTEP_AGENT_RECORDER_PRELOAD_NCCL_API_H_
