#include "agent/recorder/nccl_names.h"

#include <string.h>

namespace lockstep::ring {
namespace {

template <typename Meaning>
struct Row {
  const char* name;
  Meaning meaning;
};

constexpr Row<OperationKind> kKinds[] = {
    {"AllReduce", OperationKind::kAllReduce},
    {"AllGather", OperationKind::kAllGather},
    {"ReduceScatter", OperationKind::kReduceScatter},
    {"Broadcast", OperationKind::kBroadcast},
    {"Reduce", OperationKind::kReduce},
    {"AlltoAll", OperationKind::kAllToAll},
    {"Gather", OperationKind::kGather},
    {"Scatter", OperationKind::kScatter},
    {"Send", OperationKind::kSend},
    {"Recv", OperationKind::kRecv},
    // Grouped broadcasts that NCCL 2.29 merges.
    {"AllGatherV", OperationKind::kAllGather},
};

constexpr Row<uint8_t> kDatatypes[] = {
    {"ncclBfloat16", 2},   {"ncclFloat16", 2},    {"ncclFloat32", 4}, {"ncclFloat64", 8}, {"ncclInt8", 1},
    {"ncclUint8", 1},      {"ncclInt32", 4},      {"ncclUint32", 4},  {"ncclInt64", 8},   {"ncclUint64", 8},
    {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}, {"Unknown", 1},  // what NCCL says of ncclUint8
};

constexpr Row<Algorithm> kAlgorithms[] = {
    {"RING", Algorithm::kRing},
    {"TREE", Algorithm::kTree},
    {"NVLS", Algorithm::kNvls},
    {"NVLS_TREE", Algorithm::kNvlsTree},
    {"PAT", Algorithm::kPat},
    {"COLLNET_DIRECT", Algorithm::kCollnetDirect},
    {"COLLNET_CHAIN", Algorithm::kCollnetChain},
};

constexpr Row<Protocol> kProtocols[] = {
    {"SIMPLE", Protocol::kSimple}, {"LL", Protocol::kLl}, {"LL128", Protocol::kLl128}};

// By the enumerations of NCCL 2.23.
constexpr OperationKind kKindCodes[] = {
    OperationKind::kBroadcast, OperationKind::kReduce,  OperationKind::kAllGather, OperationKind::kReduceScatter,
    OperationKind::kAllReduce, OperationKind::kUnknown, OperationKind::kSend,      OperationKind::kRecv,
};
constexpr uint8_t kDatatypeCodes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
constexpr Algorithm kAlgorithmCodes[] = {
    Algorithm::kTree, Algorithm::kRing,     Algorithm::kCollnetDirect, Algorithm::kCollnetChain,
    Algorithm::kNvls, Algorithm::kNvlsTree, Algorithm::kPat,
};
constexpr Protocol kProtocolCodes[] = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

template <typename Meaning, size_t kRows>
Meaning Find(const Row<Meaning> (&rows)[kRows], const char* name) {
  if (name == nullptr) return {};
  for (const Row<Meaning>& row : rows) {
    if (strcmp(row.name, name) == 0) return row.meaning;
  }
  return {};
}

template <typename Meaning, size_t kCodes>
Meaning At(const Meaning (&codes)[kCodes], uint8_t code) {
  return code < kCodes ? codes[code] : Meaning{};
}

}  // namespace

OperationKind NcclKind(const char* name) { return Find(kKinds, name); }
uint8_t NcclDatatypeBytes(const char* name) { return Find(kDatatypes, name); }
Algorithm NcclAlgorithm(const char* name) { return Find(kAlgorithms, name); }
Protocol NcclProtocol(const char* name) { return Find(kProtocols, name); }

NameMeanings NameMemo::LookUp(const OperationNames& names) {
  return {NcclKind(names.function), NcclDatatypeBytes(names.datatype), NcclAlgorithm(names.algorithm),
          NcclProtocol(names.protocol)};
}

void NameMemo::Learn(const OperationNames& names, Entry* entry) {
  memcpy(entry->function.words, names.function, sizeof(Prefix));
  memcpy(entry->datatype.words, names.datatype, sizeof(Prefix));
  memcpy(entry->algorithm.words, names.algorithm, sizeof(Prefix));
  memcpy(entry->protocol.words, names.protocol, sizeof(Prefix));
  entry->meanings = LookUp(names);
}

OperationKind NcclKind(uint8_t code) { return At(kKindCodes, code); }
uint8_t NcclDatatypeBytes(uint8_t code) { return At(kDatatypeCodes, code); }
Algorithm NcclAlgorithm(uint8_t code) { return At(kAlgorithmCodes, code); }
Protocol NcclProtocol(uint8_t code) { return At(kProtocolCodes, code); }

}  // namespace lockstep::ring
