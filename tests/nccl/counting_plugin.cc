// A profiler plugin of the tests: counts what it is sent and checks that it could live alone. It stands for the other
// plugin of a chain, and for a plugin at all while the driver itself is tested.
//
// Environment: COUNTING_PLUGIN_MASK = the events it asks for; COUNTING_PLUGIN_REPORT = the file that it writes when its
// last communicator is finalized: one `name value` per line (see Report).
//
// Handles are pointers to records that are never freed, so that whatever comes back can be checked.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "tests/nccl/abi_values.h"
#include "tests/nccl/abi_versions.h"

namespace lockstep::nccl {
namespace {

constexpr uint64_t kLiving = 0x4C6976696E670000;
constexpr int kMaxEvents = 1 << 18;
constexpr int kTypes = 16;

struct Record {
  std::atomic<uint64_t> magic{0};
  uint32_t type = 0;
  std::atomic<int> stops{0};
};

// Everything is zero at start.
Record records[kMaxEvents];
std::atomic<int> records_used{0};
std::atomic<int> live_communicators{0};
std::atomic<uint64_t> starts[kTypes];
std::atomic<uint64_t> stops[kTypes];
std::atomic<uint64_t> states{0};
std::atomic<uint64_t> foreign_handles{0};
std::atomic<uint64_t> foreign_parents{0};
std::atomic<uint64_t> bytes_of_counts{0};  // sum of the element counts of all collectives
std::atomic<uint64_t> sequence_sum{0};
std::atomic<int> version_in_use{0};

int IndexOf(uint32_t type) { return type == 0 ? 0 : __builtin_ctz(type) % kTypes; }

bool IsOurs(const void* handle) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  const auto begin = reinterpret_cast<uintptr_t>(&records[0]);
  if (address < begin || address >= begin + sizeof(records) || (address - begin) % sizeof(Record) != 0) return false;
  return static_cast<const Record*>(handle)->magic.load() == kLiving;
}

uint32_t WantedMask() {
  const char* const text = getenv("COUNTING_PLUGIN_MASK");
  return text == nullptr ? uint32_t{kColl} : static_cast<uint32_t>(strtoul(text, nullptr, 0));
}

void Report() {
  const char* const path = getenv("COUNTING_PLUGIN_REPORT");
  if (path == nullptr) return;
  FILE* const file = fopen(path, "w");
  if (file == nullptr) return;
  for (int i = 0; i < kTypes; ++i) {
    fprintf(file, "started_%u %llu\nstopped_%u %llu\n", 1u << i, static_cast<unsigned long long>(starts[i].load()),
            1u << i, static_cast<unsigned long long>(stops[i].load()));
  }
  fprintf(file, "states %llu\nforeign_handles %llu\nforeign_parents %llu\ncounts %llu\nsequences %llu\nversion %d\n",
          static_cast<unsigned long long>(states.load()), static_cast<unsigned long long>(foreign_handles.load()),
          static_cast<unsigned long long>(foreign_parents.load()),
          static_cast<unsigned long long>(bytes_of_counts.load()), static_cast<unsigned long long>(sequence_sum.load()),
          version_in_use.load());
  fclose(file);
}

int Begin(int version, void** context, int* mask) {
  version_in_use = version;
  *context = &live_communicators;
  __atomic_store_n(mask, static_cast<int>(WantedMask()), __ATOMIC_RELAXED);
  ++live_communicators;
  return kSuccess;
}

template <int kVersion>
int StartEvent(void* context, void** handle, void* descriptor) {
  const auto& event = *static_cast<const typename Abi<kVersion>::Descriptor*>(descriptor);
  const auto type = static_cast<uint32_t>(event.type);
  if (context != &live_communicators) ++foreign_handles;
  ++starts[IndexOf(type)];
  // Of another process's proxy operation nobody can know the parent.
  const bool is_from_elsewhere = type == kProxyOp && event.body.proxy_op.pid != getpid();
  if (event.parent != nullptr && !is_from_elsewhere && !IsOurs(event.parent)) ++foreign_parents;
  if (type == kColl) {
    bytes_of_counts += event.body.coll.count;
    sequence_sum += event.body.coll.sequence;
    if constexpr (requires { event.body.coll.parent_group; }) {
      if (event.body.coll.parent_group != nullptr && !IsOurs(event.body.coll.parent_group)) ++foreign_parents;
    }
  }
  const int index = records_used.fetch_add(1);
  *handle = nullptr;
  if (index >= kMaxEvents) return kSuccess;
  records[index].type = type;
  records[index].magic.store(kLiving);
  *handle = &records[index];
  return kSuccess;
}

int StopEvent(void* handle) {
  if (!IsOurs(handle)) {
    ++foreign_handles;
    return kSuccess;
  }
  auto* const record = static_cast<Record*>(handle);
  ++record->stops;
  ++stops[IndexOf(record->type)];
  return kSuccess;
}

int RecordEventState(void* handle, int32_t state, void* arguments) {
  if (!IsOurs(handle)) ++foreign_handles;
  ++states;
  return kSuccess;
}

int Finalize(void* context) {
  if (context != &live_communicators) ++foreign_handles;
  if (--live_communicators == 0) Report();
  return kSuccess;
}

template <int kVersion>
int InitWithoutCommunicator(void** context, int* mask) {
  return Begin(kVersion, context, mask);
}
int InitWithHash(void** context, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank, Logger) {
  return Begin(4, context, mask);
}
template <int kVersion>
int InitWithId(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank, Logger) {
  return Begin(kVersion, context, mask);
}

}  // namespace
}  // namespace lockstep::nccl

#define EXPORT_PROFILER(version, init)                                                                         \
  extern "C" __attribute__((visibility("default"))) const lockstep::nccl::PluginTable ncclProfiler_v##version; \
  const lockstep::nccl::PluginTable ncclProfiler_v##version = {"counting",                                     \
                                                               reinterpret_cast<void*>(&lockstep::nccl::init), \
                                                               lockstep::nccl::StartEvent<version>,            \
                                                               lockstep::nccl::StopEvent,                      \
                                                               lockstep::nccl::RecordEventState,               \
                                                               lockstep::nccl::Finalize}

EXPORT_PROFILER(1, InitWithoutCommunicator<1>);
EXPORT_PROFILER(2, InitWithoutCommunicator<2>);
EXPORT_PROFILER(3, InitWithoutCommunicator<3>);
EXPORT_PROFILER(4, InitWithHash);
EXPORT_PROFILER(5, InitWithId<5>);
EXPORT_PROFILER(6, InitWithId<6>);
EXPORT_PROFILER(7, InitWithId<7>);
