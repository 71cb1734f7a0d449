// The functions and datatypes that NCCL's profiler names, with their values in v1 of the interface.

#ifndef LOCKSTEP_TESTS_NCCL_VOCABULARY_H_
#define LOCKSTEP_TESTS_NCCL_VOCABULARY_H_

#include "tests/nccl/event.h"

namespace lockstep::nccl {

inline constexpr FunctionFacts kBroadcast = {"Broadcast", 0, false};
inline constexpr FunctionFacts kReduce = {"Reduce", 1, false};
inline constexpr FunctionFacts kAllGather = {"AllGather", 2, false};
inline constexpr FunctionFacts kReduceScatter = {"ReduceScatter", 3, false};
inline constexpr FunctionFacts kAllReduce = {"AllReduce", 4, false};
inline constexpr FunctionFacts kSend = {"Send", 6, true};
inline constexpr FunctionFacts kRecv = {"Recv", 7, true};
// A collective that a recorder of today does not know.
inline constexpr FunctionFacts kFutureFunction = {"AllShuffle", 99, false};

inline constexpr FunctionFacts kCollectives[] = {kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce};

inline constexpr DatatypeFacts kInt8 = {"ncclInt8", 0, 1};
inline constexpr DatatypeFacts kInt64 = {"ncclInt64", 4, 8};
inline constexpr DatatypeFacts kFloat16 = {"ncclFloat16", 6, 2};
inline constexpr DatatypeFacts kFloat32 = {"ncclFloat32", 7, 4};
inline constexpr DatatypeFacts kFloat64 = {"ncclFloat64", 8, 8};
inline constexpr DatatypeFacts kBfloat16 = {"ncclBfloat16", 9, 2};

inline constexpr DatatypeFacts kDatatypes[] = {kInt8, kInt64, kFloat16, kFloat32, kFloat64, kBfloat16};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_VOCABULARY_H_
