// Points that wait in memory until their chunk is full: one open chunk per series, and sealed chunks that are not yet
// on disk.
//
// Not thread-safe. Bounded: points of too many series, and the oldest sealed chunks that nobody writes, are dropped and
// counted.

#ifndef LOCKSTEP_COLLECTOR_STORE_OPEN_CHUNKS_H_
#define LOCKSTEP_COLLECTOR_STORE_OPEN_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/store/chunk.h"
#include "collector/store/history_store.h"
#include "collector/store/keys.h"

namespace lockstep {

struct OpenChunksOptions {
  int64_t span_ns = 60'000'000'000;  // no two points of a chunk are further apart
  size_t max_points = 240;           // of one chunk; at most kMaxChunkPoints
  size_t max_series = 200'000;       // with an open chunk at the same time
  size_t max_sealed = 400'000;       // chunks that wait to be written
};

struct SealedChunk {
  SeriesLabels labels;
  std::vector<Point> points;  // by time, at least one
};

class OpenChunks {
 public:
  explicit OpenChunks(const OpenChunksOptions& options);

  // Adds the point to the open chunk of its series, sealing that first if the point does not fit.
  void Append(const SeriesPoint& point);

  // Seals every chunk whose first point is `span_ns` old at `wall_ns`. O(open series).
  void SealOlder(int64_t wall_ns);
  void SealAll();

  // Chunks to write, oldest first; DropSealed the first `count` once they are on disk.
  const std::deque<SealedChunk>& sealed() const { return sealed_; }
  void DropSealed(size_t count) { sealed_.erase(sealed_.begin(), sealed_.begin() + static_cast<ptrdiff_t>(count)); }

  // Calls `visit` with the labels of every chunk, open or sealed: several times for a series that has several.
  void ForEachLabels(const std::function<void(const SeriesLabels&)>& visit) const;

  // Calls `visit` with every chunk of the series, oldest first. The points of one chunk are in order of arrival.
  // O(sealed chunks).
  void ForEachChunk(const SeriesLabels& labels, const std::function<void(const std::vector<Point>&)>& visit) const;

  size_t open_series() const { return open_.size(); }
  uint64_t dropped_points() const { return dropped_points_; }

 private:
  struct OpenChunk {
    SeriesLabels labels;
    std::vector<Point> points;
    int64_t first_wall_ns = 0;
    int64_t last_wall_ns = 0;
  };

  bool Fits(const OpenChunk& chunk, int64_t wall_ns) const;
  void Seal(OpenChunk& chunk);

  const OpenChunksOptions options_;
  std::unordered_map<std::string, OpenChunk> open_;  // by encoded labels; at most max_series, none empty
  std::deque<SealedChunk> sealed_;                   // at most max_sealed
  uint64_t dropped_points_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_OPEN_CHUNKS_H_
