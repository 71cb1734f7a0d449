#include "agent/recorder/mpi_communicators.h"

#include "agent/recorder/mpi_recorder.h"

namespace lockstep::ring {
namespace {

constexpr int kMaxAddSpins = 100'000;
constexpr int kRanksPerTranslation = 256;  // members are translated in pieces that fit on the stack

uint64_t Key(MPI_Comm communicator) { return reinterpret_cast<uint64_t>(communicator); }

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93;
  return hash ^ hash >> 29;
}

// Of the members' ranks in MPI_COMM_WORLD, in order. Members outside of it hash as MPI_UNDEFINED.
uint64_t HashMembers(MPI_Group members, MPI_Group world, int size) {
  uint64_t hash = Mix(0, static_cast<uint64_t>(size));
  for (int first = 0; first < size; first += kRanksPerTranslation) {
    int ranks[kRanksPerTranslation];
    int world_ranks[kRanksPerTranslation];
    const int count = size - first < kRanksPerTranslation ? size - first : kRanksPerTranslation;
    for (int i = 0; i < count; ++i) ranks[i] = first + i;
    if (PMPI_Group_translate_ranks(members, count, ranks, world, world_ranks) != MPI_SUCCESS) return 0;
    for (int i = 0; i < count; ++i) hash = Mix(hash, static_cast<uint32_t>(world_ranks[i]));
  }
  return hash;
}

// 0 = could not be told.
uint64_t MembersHash(MPI_Comm communicator, int size) {
  uint64_t hash = 0;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (PMPI_Comm_group(communicator, &members) == MPI_SUCCESS) {
    if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
      hash = HashMembers(members, world, size);
      PMPI_Group_free(&world);
    }
    PMPI_Group_free(&members);
  }
  return hash;
}

// Acquires `flag` or gives up.
class BoundedLock {
 public:
  explicit BoundedLock(std::atomic_flag& flag) : flag_(flag) {
    for (int spin = 0; spin < kMaxAddSpins && !held_; ++spin) held_ = !flag_.test_and_set(std::memory_order_acquire);
  }
  ~BoundedLock() {
    if (held_) flag_.clear(std::memory_order_release);
  }
  BoundedLock(const BoundedLock&) = delete;
  BoundedLock& operator=(const BoundedLock&) = delete;

  bool held() const { return held_; }

 private:
  std::atomic_flag& flag_;
  bool held_ = false;
};

}  // namespace

KnownCommunicator MpiCommunicators::Resolve(MPI_Comm communicator, RingWriter* writer) {
  KnownCommunicator known;
  if (communicator == MPI_COMM_NULL || known_.Find(Key(communicator), &known)) return known;
  return AddLocked(communicator, "", writer);
}

void MpiCommunicators::Add(MPI_Comm communicator, const char* name, RingWriter* writer) {
  if (communicator != MPI_COMM_NULL) AddLocked(communicator, name, writer);
}

KnownCommunicator MpiCommunicators::AddLocked(MPI_Comm communicator, const char* name, RingWriter* writer) {
  KnownCommunicator known;
  BoundedLock lock(adding_);
  if (!lock.held() || known_.Find(Key(communicator), &known)) return known;
  known = Describe(communicator, name, writer);
  if (!known_.Insert(Key(communicator), known)) known.is_recorded = false;
  return known;
}

KnownCommunicator MpiCommunicators::Describe(MPI_Comm communicator, const char* name, RingWriter* writer) {
  KnownCommunicator known;
  int is_intercommunicator = 0;
  int size = 0;
  int rank = -1;
  if (PMPI_Comm_test_inter(communicator, &is_intercommunicator) != MPI_SUCCESS || is_intercommunicator) return known;
  if (PMPI_Comm_size(communicator, &size) != MPI_SUCCESS) return known;
  if (PMPI_Comm_rank(communicator, &rank) != MPI_SUCCESS) return known;
  known.size = size;
  known.rank = rank;
  known.is_recorded = true;
  const uint64_t members = MembersHash(communicator, size);
  uint64_t before = 0;
  if (members == 0 || !CountBefore(members, &before)) return known;
  known.index = writer->FindOrAddCommunicator({.id = Mix(members, before), .size = size, .rank = rank, .name = name},
                                              MonotonicNs());
  return known;
}

bool MpiCommunicators::CountBefore(uint64_t members_hash, uint64_t* before) {
  for (size_t i = 0; i < group_count_; ++i) {
    if (groups_[i].members_hash != members_hash) continue;
    *before = groups_[i].communicators++;
    return true;
  }
  if (group_count_ == kMaxGroups) return false;
  groups_[group_count_++] = {members_hash, 1};
  *before = 0;
  return true;
}

void MpiCommunicators::Rename(MPI_Comm communicator, const char* name, RingWriter* writer) {
  const KnownCommunicator known = Resolve(communicator, writer);
  if (known.is_recorded && name != nullptr) writer->NameCommunicator(known.index, name);
}

void MpiCommunicators::Remove(MPI_Comm communicator, RingWriter* writer) {
  KnownCommunicator known;
  if (communicator != MPI_COMM_NULL && known_.Take(Key(communicator), &known)) {
    writer->FreeCommunicator(known.index);
  }
}

namespace {

// Runs a call that makes `*made`, and remembers what it made.
template <typename Call>
int Make(MPI_Comm* made, Call call) {
  MpiCall scope;
  const int result = call();
  if (result == MPI_SUCCESS && made != nullptr && scope.is_recorded()) {
    g_recorder.communicators.Add(*made, "", &g_recorder.writer);
  }
  return result;
}

// Runs a call that frees `*freed`. The handle may be reused by another thread as soon as the call has begun.
template <typename Call>
int Free(MPI_Comm* freed, Call call) {
  MpiCall scope;
  if (freed != nullptr && scope.is_recorded()) g_recorder.communicators.Remove(*freed, &g_recorder.writer);
  return call();
}

}  // namespace

LOCKSTEP_MPI_ENTRY MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Comm_create(comm, group, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Comm_create_group(comm, group, tag, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Comm_split(comm, color, key, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Comm_split_type(comm, type, key, info, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Comm_dup(comm, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Comm_dup_with_info(comm, info, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                                   MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* made) {
  return Make(made, [&] { return PMPI_Cart_sub(comm, remaining, made); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_free(MPI_Comm* comm) {
  return Free(comm, [&] { return PMPI_Comm_free(comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_disconnect(MPI_Comm* comm) {
  return Free(comm, [&] { return PMPI_Comm_disconnect(comm); });
}

LOCKSTEP_MPI_ENTRY MPI_Comm_set_name(MPI_Comm comm, const char* name) {
  MpiCall scope;
  const int result = PMPI_Comm_set_name(comm, name);
  if (result == MPI_SUCCESS && scope.is_recorded()) g_recorder.communicators.Rename(comm, name, &g_recorder.writer);
  return result;
}

}  // namespace lockstep::ring
