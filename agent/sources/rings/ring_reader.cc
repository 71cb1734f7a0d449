#include "agent/sources/rings/ring_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// Slots, entries or rows copied at once, onto the stack: 32 KiB per copy.
constexpr uint64_t kMaxRunSlots = 256;
constexpr int32_t kMaxRanks = 1'000'000;
constexpr uint64_t kProxyEvents = 8 | 16;  // of NCCL's activation mask

// By RingRefusalReason.
constexpr absl::string_view kRefusalNames[] = {"none",          "initializing", "unreadable",   "not_a_ring",
                                               "newer_layout",  "bad_geometry", "bad_identity", "too_many",
                                               "foreign_owner", "damaged"};
static_assert(std::size(kRefusalNames) == kRingRefusalReasons);

// Of the operations in flight, only the newest `most`, as of the pending ones; gives the memory of the others back.
void ForgetOldInFlight(size_t most, RingSnapshot* snapshot) {
  std::vector<ring::OperationSlot>& in_flight = snapshot->in_flight;
  if (in_flight.size() <= most) return;
  in_flight.erase(in_flight.begin(), in_flight.end() - static_cast<ptrdiff_t>(most));
  in_flight.shrink_to_fit();
}

// Copies exactly `size` bytes at `offset`; false when the file ends before or cannot be read.
bool ReadAt(int fd, uint64_t offset, size_t size, void* to) {
  auto* bytes = static_cast<uint8_t*>(to);
  while (size > 0) {
    const ssize_t got = pread(fd, bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    offset += got;
    size -= got;
  }
  return true;
}

absl::Status Truncated() { return absl::DataLossError("the file was truncated"); }

std::string CheckGeometry(const ring::RingHeader& header, uint64_t file_bytes) {
  const auto differs = [](const char* field, uint64_t found, uint64_t expected) {
    return absl::StrCat(field, " is ", found, ", expected ", expected);
  };
  if (header.header_bytes != sizeof(ring::RingHeader)) {
    return differs("header_bytes", header.header_bytes, sizeof(ring::RingHeader));
  }
  if (header.communicator_bytes != sizeof(ring::CommunicatorEntry)) {
    return differs("communicator_bytes", header.communicator_bytes, sizeof(ring::CommunicatorEntry));
  }
  if (header.operation_bytes != sizeof(ring::OperationSlot)) {
    return differs("operation_bytes", header.operation_bytes, sizeof(ring::OperationSlot));
  }
  const uint32_t operations = header.operation_capacity;
  if (operations == 0 || operations > ring::kMaxOperations || (operations & (operations - 1)) != 0) {
    return absl::StrCat("operation_capacity is ", operations);
  }
  if (header.communicator_capacity == 0 || header.communicator_capacity > ring::kMaxCommunicators) {
    return absl::StrCat("communicator_capacity is ", header.communicator_capacity);
  }
  if (header.transfer_capacity > ring::kMaxTransfers) {
    return absl::StrCat("transfer_capacity is ", header.transfer_capacity);
  }
  const uint64_t expected = ring::FileBytes(header.communicator_capacity, operations, header.transfer_capacity);
  // Behind the tables that are known here a later layout may have others.
  const bool may_be_longer = header.layout_version > ring::kLayoutVersion;
  if (header.total_bytes < expected || (header.total_bytes > expected && !may_be_longer)) {
    return differs("total_bytes", header.total_bytes, expected);
  }
  if (file_bytes < header.total_bytes) return differs("size of the file", file_bytes, header.total_bytes);
  return "";
}

std::string CheckIdentity(const ring::RingHeader& header) {
  if (header.pid <= 0) return absl::StrCat("pid is ", header.pid);
  if (header.rank < -1 || header.rank >= kMaxRanks || header.world_size < -1 || header.world_size > kMaxRanks ||
      (header.world_size >= 0 && header.rank >= header.world_size)) {
    return absl::StrCat("rank ", header.rank, " in a world of ", header.world_size);
  }
  if (header.local_rank < -1) return absl::StrCat("local_rank is ", header.local_rank);
  if (header.gpu_index < -1) return absl::StrCat("gpu_index is ", header.gpu_index);
  return "";
}

RingRefusal CheckHeader(const ring::RingHeader& header, uint64_t file_bytes) {
  if (header.magic != ring::kMagic) return {RingRefusalReason::kNotARing, "no magic number"};
  const uint32_t since = header.readable_since == 0 ? header.layout_version : header.readable_since;
  if (header.layout_version > ring::kLayoutVersion && since > ring::kLayoutVersion) {
    return {RingRefusalReason::kNewerLayout, absl::StrCat("layout version ", header.layout_version, ", for readers of ",
                                                          since, " on; this agent reads ", ring::kLayoutVersion)};
  }
  if (header.layout_version == 0) return {RingRefusalReason::kBadGeometry, "layout version 0"};
  if (std::string wrong = CheckGeometry(header, file_bytes); !wrong.empty()) {
    return {RingRefusalReason::kBadGeometry, std::move(wrong)};
  }
  if (header.state == static_cast<uint32_t>(ring::RecorderState::kInitializing)) {
    return {RingRefusalReason::kInitializing, "the recorder is still starting"};
  }
  if (std::string wrong = CheckIdentity(header); !wrong.empty()) {
    return {RingRefusalReason::kBadIdentity, std::move(wrong)};
  }
  return {};
}

}  // namespace

absl::string_view RingRefusalName(RingRefusalReason reason) { return kRefusalNames[static_cast<int>(reason)]; }

std::unique_ptr<RingReader> RingReader::Open(UniqueFd file, int64_t since_ns, RingRefusal* refusal) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) {
    *refusal = {RingRefusalReason::kUnreadable, std::strerror(errno)};
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    *refusal = {RingRefusalReason::kNotARing, "no regular file"};
    return nullptr;
  }
  ring::RingHeader header;
  if (!ReadAt(file.get(), 0, sizeof(header), &header)) {
    *refusal = {RingRefusalReason::kNotARing, absl::StrCat("only ", status.st_size, " bytes")};
    return nullptr;
  }
  *refusal = CheckHeader(header, static_cast<uint64_t>(status.st_size));
  if (refusal->reason != RingRefusalReason::kNone) return nullptr;
  return std::unique_ptr<RingReader>(new RingReader(std::move(file), since_ns, header));
}

void RingReader::Describe(wire::RingPosition& position) const {
  position.set_opened_at_ns(header_.opened_at_ns);
  position.set_pid(header_.pid);
  position.set_process_start_ticks(header_.process_start_ticks);
  position.set_next_ticket(next_unseen_);
  const size_t left_out = pending_.size() - std::min(pending_.size(), kMaxKeptPending);
  position.set_forgotten(left_out);
  uint64_t before = 0;
  for (size_t i = left_out; i < pending_.size(); ++i) {
    position.add_pending_deltas(pending_[i] - std::exchange(before, pending_[i]));
  }
}

bool RingReader::ResumeAt(const wire::RingPosition& position) {
  const bool is_same = position.opened_at_ns() == header_.opened_at_ns && position.pid() == header_.pid &&
                       position.process_start_ticks() == header_.process_start_ticks;
  if (!is_same || polled_ || position.next_ticket() > NextTicket()) return false;
  std::vector<uint64_t> pending;
  uint64_t ticket = 0;
  for (int i = 0; i < position.pending_deltas_size(); ++i) {
    const uint64_t delta = position.pending_deltas(i);
    if (delta >= position.next_ticket() - ticket || (i > 0 && delta == 0)) return false;
    ticket += delta;
    pending.push_back(ticket);
  }
  pending_ = std::move(pending);
  next_unseen_ = position.next_ticket();
  forgotten_ = position.forgotten();
  since_ns_ = 0;
  return true;
}

absl::Status RingReader::Poll(RingSnapshot* snapshot, const RingAllowance& allowance) {
  *snapshot = {};
  snapshot->overwritten = std::exchange(forgotten_, 0);
  ring::RingHeader now;
  if (!ReadAt(file_.get(), 0, sizeof(now), &now)) return Truncated();
  // Capacities are taken from the first header for ever; a change of it means that somebody else writes here.
  if (std::memcmp(&now, &header_, offsetof(ring::RingHeader, state)) != 0) {
    return absl::DataLossError("the constant part of the header has changed");
  }
  snapshot->state = now.state;
  snapshot->disabled_reason = now.disabled_reason;
  snapshot->counters = now.counters;
  snapshot->active_mask = now.active_mask;
  snapshot->nccl = now.nccl;
  const uint32_t communicators = std::min(now.communicator_count, header_.communicator_capacity);
  const uint32_t taken = std::min(communicators, allowance.communicators);
  snapshot->communicators_left_out = communicators - taken;
  RETURN_IF_ERROR(PollCommunicators(taken, snapshot));
  RETURN_IF_ERROR(PollTransfers(now.active_mask, allowance.transfers, snapshot));
  RETURN_IF_ERROR(PollOperations(now.next_ticket, allowance.operations, snapshot));
  if (!polled_ && header_.opened_at_ns < since_ns_) snapshot->overwritten = snapshot->skipped = 0;
  polled_ = true;
  return absl::OkStatus();
}

uint64_t RingReader::NextTicket() const {
  uint64_t next_ticket = 0;
  if (!ReadAt(file_.get(), offsetof(ring::RingHeader, next_ticket), sizeof(next_ticket), &next_ticket)) return 0;
  return next_ticket;
}

uint64_t RingReader::Backlog() const {
  const uint64_t next_ticket = NextTicket();
  return next_ticket > next_unseen_ ? next_ticket - next_unseen_ : 0;
}

absl::Status RingReader::PollCommunicators(uint32_t count, RingSnapshot* snapshot) const {
  snapshot->communicators.reserve(count);
  ring::CommunicatorEntry copies[2][kMaxRunSlots];
  for (uint32_t begin = 0; begin < count; begin += kMaxRunSlots) {
    const uint32_t run = std::min<uint32_t>(count - begin, kMaxRunSlots);
    for (ring::CommunicatorEntry* copy : copies) {
      const uint64_t offset = sizeof(ring::RingHeader) + uint64_t{begin} * sizeof(*copy);
      if (!ReadAt(file_.get(), offset, run * sizeof(*copy), copy)) return Truncated();
    }
    for (uint32_t i = 0; i < run; ++i) {
      // 0 in either copy: being written or renamed at this moment. The counters may differ between the copies: each is
      // written at once and only grows, so the later is as good as any.
      if (copies[0][i].ready == 0 || copies[1][i].ready == 0) continue;
      snapshot->communicators.push_back({begin + i, copies[1][i]});
    }
  }
  return absl::OkStatus();
}

absl::Status RingReader::PollTransfers(uint64_t active_mask, uint32_t most, RingSnapshot* snapshot) {
  // Sums grow only while proxy events are delivered, and once more in the look after that.
  const bool grows = ((active_mask | last_mask_) & kProxyEvents) != 0;
  last_mask_ = active_mask;
  if (!grows || header_.transfer_capacity == 0) return absl::OkStatus();
  const uint32_t count = std::min(header_.transfer_capacity, most);
  snapshot->transfers_left_out = header_.transfer_capacity - count;
  const uint64_t table = ring::FileBytes(header_.communicator_capacity, header_.operation_capacity);
  ring::TransferWaits rows[kMaxRunSlots];
  for (uint32_t begin = 0; begin < count; begin += kMaxRunSlots) {
    const uint32_t run = std::min<uint32_t>(count - begin, kMaxRunSlots);
    if (!ReadAt(file_.get(), table + uint64_t{begin} * sizeof(rows[0]), run * sizeof(rows[0]), rows))
      return Truncated();
    std::copy_if(rows, rows + run, std::back_inserter(snapshot->transfers),
                 [](const ring::TransferWaits& row) { return row.ready != 0; });
  }
  return absl::OkStatus();
}

absl::Status RingReader::RequestEvents(const UniqueFd& writable, uint64_t mask, int64_t until_ns) const {
  const auto write_at = [&writable](size_t offset, uint64_t value) {
    return pwrite(writable.get(), &value, sizeof(value), static_cast<off_t>(offset)) == sizeof(value);
  };
  // The mask last: it is what makes the recorder look at the rest.
  if (write_at(offsetof(ring::RingHeader, control.expires_at_ns), static_cast<uint64_t>(until_ns)) &&
      write_at(offsetof(ring::RingHeader, control.event_mask), mask)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(std::strerror(errno));
}

absl::Status RingReader::PollOperations(uint64_t next_ticket, uint64_t most, RingSnapshot* snapshot) {
  if (next_ticket < next_unseen_) return absl::DataLossError("next_ticket went backwards");
  const uint64_t capacity = header_.operation_capacity;
  ForgetOverwritten(next_ticket, snapshot);
  std::vector<uint64_t> tickets;
  tickets.swap(pending_);

  const auto newest = [next_ticket](uint64_t count) { return next_ticket > count ? next_ticket - count : 0; };
  const uint64_t first_held = std::max(next_unseen_, newest(capacity));
  const uint64_t first_new = std::max(first_held, newest(most));
  snapshot->overwritten += first_held - next_unseen_;
  snapshot->skipped += first_new - first_held;
  for (uint64_t ticket = first_new; ticket < next_ticket; ++ticket) tickets.push_back(ticket);
  next_unseen_ = next_ticket;

  // Runs of tickets whose slots lie close together and do not wrap around the end of the ring.
  for (size_t begin = 0; begin < tickets.size();) {
    const uint64_t first_slot = tickets[begin] % capacity;
    size_t end = begin + 1;
    while (end < tickets.size() && tickets[end] - tickets[begin] < std::min(kMaxRunSlots, capacity - first_slot)) ++end;
    RETURN_IF_ERROR(ReadRun(tickets, begin, end, snapshot));
    begin = end;
  }
  // What writers began to overwrite while we read looked as if it were still being filled.
  ForgetOverwritten(NextTicket(), snapshot);
  const size_t most_pending = std::clamp<uint64_t>(most / 4, kMinPending, kMaxPending);
  if (pending_.size() > most_pending) ForgetPending(pending_.size() - most_pending, snapshot);
  ForgetOldInFlight(most_pending, snapshot);
  return absl::OkStatus();
}

void RingReader::ForgetOverwritten(uint64_t next_ticket, RingSnapshot* snapshot) {
  if (next_ticket <= header_.operation_capacity) return;
  const uint64_t oldest_held = next_ticket - header_.operation_capacity;
  const auto held = std::lower_bound(pending_.begin(), pending_.end(), oldest_held);
  ForgetPending(static_cast<size_t>(held - pending_.begin()), snapshot);
}

void RingReader::ForgetPending(size_t oldest, RingSnapshot* snapshot) {
  snapshot->overwritten += oldest;
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(oldest));
}

absl::Status RingReader::ReadRun(const std::vector<uint64_t>& tickets, size_t begin, size_t end,
                                 RingSnapshot* snapshot) {
  const uint64_t first_slot = tickets[begin] % header_.operation_capacity;
  const size_t bytes = (tickets[end - 1] - tickets[begin] + 1) * sizeof(ring::OperationSlot);
  const uint64_t offset = sizeof(ring::RingHeader) +
                          uint64_t{header_.communicator_capacity} * sizeof(ring::CommunicatorEntry) +
                          first_slot * sizeof(ring::OperationSlot);
  ring::OperationSlot copies[2][kMaxRunSlots];
  for (ring::OperationSlot* copy : copies) {
    if (!ReadAt(file_.get(), offset, bytes, copy)) return Truncated();
  }
  for (size_t i = begin; i < end; ++i) {
    const size_t at = tickets[i] - tickets[begin];
    Classify(tickets[i], copies[0][at], copies[1][at], snapshot);
  }
  return absl::OkStatus();
}

void RingReader::Classify(uint64_t ticket, const ring::OperationSlot& first, const ring::OperationSlot& second,
                          RingSnapshot* snapshot) {
  const bool stable = (first.version & 1) == 0 && std::memcmp(&first, &second, sizeof(first)) == 0;
  const auto state = static_cast<ring::OperationState>(second.state);
  // A ticket is handed out before its slot is filled: until then the slot is empty or holds an older operation.
  if (!stable || state == ring::OperationState::kEmpty || second.ticket < ticket) {
    pending_.push_back(ticket);
  } else if (second.ticket > ticket) {
    ++snapshot->overwritten;
  } else if (state == ring::OperationState::kFinished) {
    // A time of 0 or less is for the gate to count as malformed, not for us to pass over.
    if (second.finished_at_ns >= since_ns_ || second.finished_at_ns <= 0) snapshot->finished.push_back(second);
  } else if (state == ring::OperationState::kEnqueued || state == ring::OperationState::kStarted) {
    pending_.push_back(ticket);
    snapshot->in_flight.push_back(second);
  } else {
    ++snapshot->malformed;
  }
}

}  // namespace lockstep
