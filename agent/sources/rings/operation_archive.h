// The raw operations of this host's ranks, kept for a while so that a collector can ask for them.
//
// Reports are thinned under pressure and a collector looks closely only when it has to: what it then needs is here.
// Kept as encoded batches, one per (rank, communicator, tick). Where there are too many, the oldest of the user who has
// the most goes: nobody can push out what others did. About 18 bytes per
// operation: 16 MiB are some 58 s of 8 ranks with 2,000 operations per second each. What was thrown away is part of
// every answer. Not thread-safe.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_OPERATION_ARCHIVE_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_OPERATION_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class OperationArchive {
 public:
  static constexpr size_t kMaxBytes = 16 << 20;
  // Of one answer: it travels in a report, and a collector takes messages of up to 4 MiB.
  static constexpr size_t kMaxAnswerBytes = 2 << 20;
  // Of a batch in an answer, besides its operations: whose they are, about.
  static constexpr size_t kBatchBytes = 32;

  // Whose operations a batch holds.
  struct Owner {
    std::string job;
    int32_t rank = -1;
    uint64_t process_start_ticks = 0;
    uint64_t communicator = 0;
    uint32_t user = 0;  // uid
  };

  explicit OperationArchive(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // `newest_ns` = when the last of them finished (CLOCK_MONOTONIC). An empty batch is not kept.
  void Add(const Owner& owner, const wire::OperationBatch& batch, int64_t newest_ns);

  // What is held of `jobs` and was asked for, newest batches first into the limit, oldest first in the answer; user by
  // user, should several have a job of that name.
  void Pull(const std::set<std::string>& jobs, const wire::PullOperations& request, int64_t now_ns,
            wire::CommandResult& result) const;

  size_t bytes() const { return bytes_; }
  uint64_t thrown_away() const { return thrown_away_; }  // operations, since the start

 private:
  struct Chunk {
    Owner owner;
    int64_t newest_ns = 0;
    uint64_t operations = 0;
    std::string encoded;  // wire::OperationBatch

    size_t bytes() const { return sizeof(Chunk) + owner.job.size() + encoded.size(); }
  };

  // What one user's ranks did.
  struct Shelf {
    std::deque<Chunk> chunks;  // oldest first; never empty
    size_t bytes = 0;
  };

  void ThrowOneAway();

  const size_t max_bytes_;
  std::map<uint32_t, Shelf> shelves_;  // by uid
  size_t bytes_ = 0;
  uint64_t thrown_away_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_OPERATION_ARCHIVE_H_
