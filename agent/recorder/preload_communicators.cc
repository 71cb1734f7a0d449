#include "agent/recorder/preload_communicators.h"

#include <string.h>
#include <unistd.h>

#include "agent/recorder/ring_file.h"

namespace lockstep::ring {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93;
  return hash ^ hash >> 29;
}

uint64_t Key(nccl::Communicator communicator) { return reinterpret_cast<uint64_t>(communicator); }

// HandleTable keeps 0 and 1 for itself.
uint64_t IdKey(uint64_t id) { return id < 2 ? id + 2 : id; }

}  // namespace

uint64_t IdOf(const nccl::UniqueId& id) {
  uint64_t hash = 0;
  for (size_t at = 0; at < sizeof(id.bytes); at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, id.bytes + at, sizeof(word));
    hash = Mix(hash, word);
  }
  return hash;
}

uint64_t IdOfSplit(uint64_t parent, uint64_t splits_before, int color) {
  return Mix(Mix(parent, splits_before + 1), static_cast<uint32_t>(color));
}

uint64_t IdOfThisProcess(int64_t now_ns) {
  char host[64] = {};
  gethostname(host, sizeof(host) - 1);
  uint64_t hash = Mix(static_cast<uint64_t>(getpid()), static_cast<uint64_t>(now_ns));
  for (char c : host) hash = Mix(hash, static_cast<uint8_t>(c));
  return hash;
}

size_t NcclCommunicators::Claim() {
  for (size_t place = 0; place < kMaxLive; ++place) {
    bool expected = false;
    if (entries_[place].is_used.compare_exchange_strong(expected, true, std::memory_order_acq_rel)) return place;
  }
  return kMaxLive;
}

bool NcclCommunicators::Add(nccl::Communicator communicator, const NcclMember& member) {
  uint32_t stale;
  if (places_.Take(Key(communicator), &stale)) entries_[stale].is_used.store(false, std::memory_order_release);
  const size_t place = Claim();
  if (place == kMaxLive) return false;
  Entry& entry = entries_[place];
  entry.member = member;
  entry.known = {};
  entry.splits.store(0, std::memory_order_relaxed);
  entry.is_published.store(false, std::memory_order_relaxed);
  if (places_.Insert(Key(communicator), static_cast<uint32_t>(place))) return true;
  entry.is_used.store(false, std::memory_order_release);
  return false;
}

KnownMember NcclCommunicators::Resolve(nccl::Communicator communicator, bool (*ask)(nccl::Communicator, NcclMember*),
                                       RingWriter* writer) {
  uint32_t place;
  if (communicator == nullptr || !places_.Find(Key(communicator), &place)) return {};
  Entry& entry = entries_[place];
  if (entry.is_published.load(std::memory_order_acquire)) return entry.known;
  NcclMember member = entry.member;
  if (member.size == 0 && !ask(communicator, &member)) return {};
  KnownMember known;
  known.size = member.size;
  int32_t other_rank = -1;
  if (!recorded_.Find(IdKey(member.id), &other_rank)) {
    known.is_recorded = true;
    known.index =
        writer->FindOrAddCommunicator({.id = member.id, .size = member.size, .rank = member.rank}, MonotonicNs());
    recorded_.Insert(IdKey(member.id), member.rank);
  }
  entry.known = known;
  entry.is_published.store(true, std::memory_order_release);
  return known;
}

bool NcclCommunicators::NextSplitId(nccl::Communicator parent, int color, uint64_t* id) {
  uint32_t place;
  if (parent == nullptr || !places_.Find(Key(parent), &place)) return false;
  Entry& entry = entries_[place];
  *id = IdOfSplit(entry.member.id, entry.splits.fetch_add(1, std::memory_order_relaxed), color);
  return true;
}

void NcclCommunicators::Remove(nccl::Communicator communicator, RingWriter* writer) {
  uint32_t place;
  if (communicator == nullptr || !places_.Take(Key(communicator), &place)) return;
  Entry& entry = entries_[place];
  if (entry.is_published.load(std::memory_order_acquire) && entry.known.is_recorded) {
    int32_t rank;
    recorded_.Take(IdKey(entry.member.id), &rank);
    writer->FreeCommunicator(entry.known.index);
  }
  entry.is_used.store(false, std::memory_order_release);
}

}  // namespace lockstep::ring
