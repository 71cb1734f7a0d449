#include "detector/collectives/operation_history.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kFirstCapacity = 32;

}  // namespace

bool OperationHistory::Grow(Ring* ring) {
  const size_t old_capacity = ring->instances.size();
  const size_t capacity = old_capacity == 0 ? kFirstCapacity : old_capacity * 2;
  const auto size = static_cast<size_t>(ring->size);
  const auto added = static_cast<int64_t>((capacity - old_capacity) * size);
  if (capacity > static_cast<size_t>(std::max<int>(max_instances_, 1)) && old_capacity > 0) return false;
  if (added > budget_) return false;
  budget_ -= added;
  std::vector<Instance> instances(capacity);
  std::vector<Participation> participations(capacity * size);
  for (size_t i = 0; i < old_capacity; ++i) {
    const size_t place = ring->instances[i].sequence & (capacity - 1);
    if (ring->instances[i].sequence == 0) continue;
    instances[place] = ring->instances[i];
    std::copy_n(ring->participations.begin() + static_cast<int64_t>(i * size), size,
                participations.begin() + static_cast<int64_t>(place * size));
  }
  ring->instances = std::move(instances);
  ring->participations = std::move(participations);
  return true;
}

void OperationHistory::Add(int32_t communicator_slot, int32_t size, int32_t member, uint64_t sequence,
                           OperationKind kind, uint64_t bytes, const Participation& participation) {
  const auto slot = static_cast<size_t>(communicator_slot);
  if (slot >= rings_.size()) rings_.resize(slot + 1);
  Ring& ring = rings_[slot];
  if (ring.size == 0) ring.size = size;
  if (sequence == 0 || (ring.instances.empty() && !Grow(&ring))) {
    ++discarded_;
    return;
  }
  // An instance in the way is worth more room while it waits for records or is still wanted.
  while (true) {
    const Instance& there = ring.instances[sequence & (ring.instances.size() - 1)];
    if (there.sequence == 0 || there.sequence >= sequence) break;
    const bool crowded = there.recorded < size || ring.instances.size() < static_cast<size_t>(wanted_);
    if (!crowded || !Grow(&ring)) break;
  }
  Instance& instance = ring.instances[sequence & (ring.instances.size() - 1)];
  Participation* const row =
      ring.participations.data() + (sequence & (ring.instances.size() - 1)) * static_cast<size_t>(size);
  if (instance.sequence > sequence) {
    ++discarded_;
    return;
  }
  if (instance.sequence < sequence) {
    if (instance.sequence != 0 && instance.recorded < size) ++given_up_;
    instance = {.sequence = sequence, .kind = kind, .bytes = bytes};
    std::fill_n(row, size, Participation{});
  }
  if (row[member].recorded) {
    ++discarded_;
    return;
  }
  row[member] = participation;
  row[member].recorded = true;
  ++instance.recorded;
  ring.newest = std::max(ring.newest, sequence);
}

const Instance* OperationHistory::Find(int32_t communicator_slot, uint64_t sequence) const {
  const auto slot = static_cast<size_t>(communicator_slot);
  if (communicator_slot < 0 || slot >= rings_.size() || rings_[slot].instances.empty() || sequence == 0) return nullptr;
  const Instance& instance = rings_[slot].instances[sequence & (rings_[slot].instances.size() - 1)];
  return instance.sequence == sequence ? &instance : nullptr;
}

const Participation* OperationHistory::Participations(int32_t communicator_slot, uint64_t sequence) const {
  const Ring& ring = rings_[static_cast<size_t>(communicator_slot)];
  return ring.participations.data() + (sequence & (ring.instances.size() - 1)) * static_cast<size_t>(ring.size);
}

bool OperationHistory::Complete(int32_t communicator_slot, uint64_t sequence) const {
  const Instance* const instance = Find(communicator_slot, sequence);
  return instance != nullptr && instance->recorded == rings_[static_cast<size_t>(communicator_slot)].size;
}

int OperationHistory::Capacity(int32_t communicator_slot) const {
  const auto slot = static_cast<size_t>(communicator_slot);
  return slot < rings_.size() ? static_cast<int>(rings_[slot].instances.size()) : 0;
}

void OperationHistory::Clear() {
  for (const Ring& ring : rings_) budget_ += static_cast<int64_t>(ring.participations.size());
  rings_.clear();
}

}  // namespace lockstep
