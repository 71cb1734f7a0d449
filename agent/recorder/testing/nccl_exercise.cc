// Makes every NCCL call that the preloaded recorder knows, as one rank of two, and returns a checksum of what came out.
// Built into a program that is linked with NCCL, and into a library that nccl_exercise_loader.cc opens privately.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>

extern "C" {
struct ncclComm;
struct ncclUniqueId {
  char bytes[128];
};
unsigned long FakeNcclOperations();
int ncclGroupStart();
int ncclGroupEnd();
int ncclCommInitRank(ncclComm**, int, ncclUniqueId, int);
int ncclCommInitRankConfig(ncclComm**, int, ncclUniqueId, int, void*);
int ncclCommInitAll(ncclComm**, int, const int*);
int ncclCommSplit(ncclComm*, int, int, ncclComm**, void*);
int ncclCommFinalize(ncclComm*);
int ncclCommDestroy(ncclComm*);
int ncclCommAbort(ncclComm*);
int ncclAllReduce(const void*, void*, size_t, int, int, ncclComm*, void*);
int ncclBroadcast(const void*, void*, size_t, int, int, ncclComm*, void*);
int ncclBcast(void*, size_t, int, int, ncclComm*, void*);
int ncclReduce(const void*, void*, size_t, int, int, int, ncclComm*, void*);
int ncclAllGather(const void*, void*, size_t, int, ncclComm*, void*);
int ncclReduceScatter(const void*, void*, size_t, int, int, ncclComm*, void*);
int ncclSend(const void*, size_t, int, int, ncclComm*, void*);
int ncclRecv(void*, size_t, int, int, ncclComm*, void*);
}

namespace {

constexpr int kRanks = 2;
constexpr int kFloat = 7;
constexpr int kSum = 0;
constexpr size_t kCount = 16;

float g_in[kCount];
float g_out[kCount * kRanks];
double g_checksum = 0;

ncclUniqueId Id(char first) {
  ncclUniqueId id = {};
  id.bytes[0] = first;
  id.bytes[127] = 1;
  return id;
}

void Digest(int result) {
  for (float value : g_out) g_checksum = g_checksum * 1.0001 + value;
  g_checksum += result;
}

void Collectives(ncclComm* comm) {
  Digest(ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr));
  Digest(ncclBroadcast(g_in, g_out, kCount / 2, kFloat, 1, comm, nullptr));
  Digest(ncclBcast(g_out, kCount, kFloat, 0, comm, nullptr));
  Digest(ncclReduce(g_in, g_out, kCount, kFloat, kSum, 1, comm, nullptr));
  Digest(ncclAllGather(g_in, g_out, kCount, kFloat, comm, nullptr));
  Digest(ncclReduceScatter(g_in, g_out, kCount / 2, kFloat, kSum, comm, nullptr));
}

void Messages(ncclComm* comm, int rank) {
  Digest(ncclGroupStart());
  Digest(ncclGroupStart());
  for (int i = 0; i < 3; ++i) {
    Digest(ncclSend(g_in, kCount, kFloat, 1 - rank, comm, nullptr));
    Digest(ncclRecv(g_out, kCount, kFloat, 1 - rank, comm, nullptr));
  }
  Digest(ncclGroupEnd());
  Digest(ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr));
  Digest(ncclGroupEnd());
}

// More than the recorder holds of one group.
void LargeGroup(ncclComm* comm) {
  ncclGroupStart();
  for (int i = 0; i < 300; ++i) Digest(ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr));
  Digest(ncclGroupEnd());
}

// What a recorder in front of the linked names cannot see: a communicator that was made past it.
void CallsPastTheRecorder(int rank) {
  using InitRank = int (*)(ncclComm**, int, ncclUniqueId, int);
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&FakeNcclOperations), &info) == 0) return;
  void* const library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto init = reinterpret_cast<InitRank>(dlsym(library, "ncclCommInitRank"));
  ncclComm* comm = nullptr;
  Digest(init(&comm, kRanks, Id(9), rank));
  Digest(ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr));
}

void DieInsideAnOperation(ncclComm* comm) {
  ncclGroupStart();
  ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr);
  fflush(stdout);
  abort();
}

}  // namespace

// `mode`: "all", or "die" to be killed with an operation in flight.
extern "C" __attribute__((visibility("default"))) int ExerciseNccl(int rank, const char* mode) {
  for (size_t i = 0; i < kCount; ++i) g_in[i] = static_cast<float>(100 * rank) + static_cast<float>(i);
  ncclComm* world = nullptr;
  Digest(ncclCommInitRank(&world, kRanks, Id(1), rank));
  if (strcmp(mode, "die") == 0) DieInsideAnOperation(world);
  Collectives(world);
  Messages(world, rank);
  LargeGroup(world);

  ncclComm* pair[2] = {};
  ncclGroupStart();
  Digest(ncclCommInitRankConfig(&pair[0], kRanks, Id(2), rank, nullptr));
  Digest(ncclCommInitRank(&pair[1], kRanks, Id(3), 1 - rank));
  Digest(ncclGroupEnd());
  for (ncclComm* comm : pair) Digest(ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr));

  ncclComm* split[3] = {};
  Digest(ncclCommSplit(world, 5, rank, &split[0], nullptr));
  Digest(ncclCommSplit(world, -1, rank, &split[1], nullptr));
  Digest(ncclCommSplit(world, 5, rank, &split[2], nullptr));
  Digest(split[1] == nullptr ? 1 : 0);
  Digest(ncclBroadcast(g_in, g_out, kCount, kFloat, 0, split[0], nullptr));
  Digest(ncclBroadcast(g_in, g_out, kCount, kFloat, 0, split[2], nullptr));

  ncclComm* all[kRanks] = {};
  Digest(ncclCommInitAll(all, kRanks, nullptr));
  for (ncclComm* comm : all) Digest(ncclAllReduce(g_in, g_out, kCount, kFloat, kSum, comm, nullptr));
  CallsPastTheRecorder(rank);

  Digest(ncclCommFinalize(pair[0]));
  Digest(ncclCommDestroy(pair[0]));
  Digest(ncclCommAbort(split[0]));
  printf("rank %d: %lu operations, checksum %.6f\n", rank, FakeNcclOperations(), g_checksum);
  return 0;
}

#ifdef LOCKSTEP_LINKED_WITH_NCCL
int main(int argc, char** argv) { return argc == 3 ? ExerciseNccl(atoi(argv[1]), argv[2]) : 2; }
#endif
