// A libnccl for tests: the functions that the preloaded recorder stands in front of, on host memory, without a second
// rank. Behaves like old releases where that is the harder case: a communicator that is made inside a group is written
// only when the group ends, and ncclBcast calls ncclBroadcast by its exported name.
//
// FAKE_NCCL_VERSION is what ncclGetVersion tells (default 22105). Not thread-safe.

#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <functional>
#include <vector>

struct ncclComm {
  int size;
  int rank;
};

namespace {

struct UniqueId {
  char bytes[128];
};

int g_depth = 0;
std::vector<std::function<void()>>& Queue() {
  static auto* const queue = new std::vector<std::function<void()>>;
  return *queue;
}
unsigned long g_operations = 0;

int Do(std::function<void()> work) {
  if (g_depth > 0) {
    Queue().push_back(std::move(work));
  } else {
    work();
  }
  return 0;
}

int Copy(const void* in, void* out, size_t bytes) {
  return Do([=] {
    ++g_operations;
    if (in != nullptr && out != nullptr && in != out) memcpy(out, in, bytes);
  });
}

constexpr size_t kBytesOfFloat = 4;  // the exercise sends nothing else

}  // namespace

extern "C" {

// For the exercise: operations that really ran.
unsigned long FakeNcclOperations() { return g_operations; }

int ncclGetVersion(int* version) {
  const char* text = getenv("FAKE_NCCL_VERSION");
  *version = text == nullptr ? 22105 : atoi(text);
  return 0;
}

int ncclGroupStart() {
  ++g_depth;
  return 0;
}

int ncclGroupEnd() {
  if (g_depth == 0) return 5;
  if (--g_depth > 0) return 0;
  std::vector<std::function<void()>> work;
  work.swap(Queue());
  for (const std::function<void()>& item : work) item();
  return 0;
}

int ncclCommInitRank(ncclComm** made, int size, UniqueId, int rank) {
  return Do([=] { *made = new ncclComm{size, rank}; });
}

int ncclCommInitRankConfig(ncclComm** made, int size, UniqueId id, int rank, void*) {
  return ncclCommInitRank(made, size, id, rank);
}

int ncclCommInitAll(ncclComm** made, int size, const int*) {
  for (int rank = 0; rank < size; ++rank) made[rank] = new ncclComm{size, rank};
  return 0;
}

// All members of the parent choose the same colour, or none.
int ncclCommSplit(ncclComm* parent, int color, int, ncclComm** made, void*) {
  *made = color < 0 ? nullptr : new ncclComm(*parent);
  return 0;
}

int ncclCommCount(ncclComm* communicator, int* size) {
  *size = communicator->size;
  return 0;
}
int ncclCommUserRank(ncclComm* communicator, int* rank) {
  *rank = communicator->rank;
  return 0;
}
int ncclCommFinalize(ncclComm*) { return 0; }
int ncclCommDestroy(ncclComm* communicator) {
  delete communicator;
  return 0;
}
int ncclCommAbort(ncclComm* communicator) { return ncclCommDestroy(communicator); }

int ncclAllReduce(const void* in, void* out, size_t count, int, int, ncclComm*, void*) {
  return Copy(in, out, count * kBytesOfFloat);
}
int ncclBroadcast(const void* in, void* out, size_t count, int, int, ncclComm*, void*) {
  return Copy(in, out, count * kBytesOfFloat);
}
int ncclBcast(void* data, size_t count, int type, int root, ncclComm* communicator, void* stream) {
  return ncclBroadcast(data, data, count, type, root, communicator, stream);
}
int ncclReduce(const void* in, void* out, size_t count, int, int, int, ncclComm*, void*) {
  return Copy(in, out, count * kBytesOfFloat);
}
int ncclAllGather(const void* in, void* out, size_t count, int, ncclComm*, void*) {
  return Copy(in, out, count * kBytesOfFloat);
}
int ncclReduceScatter(const void* in, void* out, size_t count, int, int, ncclComm*, void*) {
  return Copy(in, out, count * kBytesOfFloat);
}
int ncclSend(const void*, size_t, int, int, ncclComm*, void*) { return Copy(nullptr, nullptr, 0); }
int ncclRecv(void*, size_t, int, int, ncclComm*, void*) { return Copy(nullptr, nullptr, 0); }

}  // extern "C"
