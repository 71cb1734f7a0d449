#include "collector/store/open_chunks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lockstep {

OpenChunks::OpenChunks(const OpenChunksOptions& options) : options_(options) {
  CHECK(options_.max_points > 0 && options_.max_points <= kMaxChunkPoints);
  CHECK(options_.span_ns >= 0 && options_.max_series > 0 && options_.max_sealed > 0);
}

void OpenChunks::Append(const SeriesPoint& point) {
  SeriesLabels labels{point.metric, point.host, point.device};
  std::string key = EncodeSeriesLabels(labels);
  auto found = open_.find(key);
  if (found == open_.end()) {
    if (open_.size() >= options_.max_series) {
      ++dropped_points_;
      return;
    }
    found = open_.emplace(std::move(key), OpenChunk{.labels = std::move(labels)}).first;
  }
  OpenChunk& chunk = found->second;
  if (!Fits(chunk, point.wall_ns)) Seal(chunk);
  chunk.first_wall_ns = chunk.points.empty() ? point.wall_ns : std::min(chunk.first_wall_ns, point.wall_ns);
  chunk.last_wall_ns = chunk.points.empty() ? point.wall_ns : std::max(chunk.last_wall_ns, point.wall_ns);
  chunk.points.emplace_back(point.wall_ns, point.value);
}

void OpenChunks::SealOlder(int64_t wall_ns) {
  for (auto it = open_.begin(); it != open_.end();) {
    if (wall_ns - it->second.first_wall_ns < options_.span_ns) {
      ++it;
      continue;
    }
    Seal(it->second);
    it = open_.erase(it);
  }
}

void OpenChunks::SealAll() {
  for (auto& [key, chunk] : open_) Seal(chunk);
  open_.clear();
}

void OpenChunks::ForEachLabels(const std::function<void(const SeriesLabels&)>& visit) const {
  for (const SealedChunk& chunk : sealed_) visit(chunk.labels);
  for (const auto& [key, chunk] : open_) visit(chunk.labels);
}

void OpenChunks::ForEachChunk(const SeriesLabels& labels,
                              const std::function<void(const std::vector<Point>&)>& visit) const {
  for (const SealedChunk& chunk : sealed_) {
    if (chunk.labels == labels) visit(chunk.points);
  }
  const auto open = open_.find(EncodeSeriesLabels(labels));
  if (open != open_.end()) visit(open->second.points);
}

bool OpenChunks::Fits(const OpenChunk& chunk, int64_t wall_ns) const {
  if (chunk.points.empty()) return true;
  return chunk.points.size() < options_.max_points && wall_ns - chunk.first_wall_ns < options_.span_ns &&
         chunk.last_wall_ns - wall_ns < options_.span_ns;
}

void OpenChunks::Seal(OpenChunk& chunk) {
  std::stable_sort(chunk.points.begin(), chunk.points.end(),
                   [](const Point& a, const Point& b) { return a.first < b.first; });
  if (sealed_.size() >= options_.max_sealed) {
    dropped_points_ += sealed_.front().points.size();
    sealed_.pop_front();
  }
  sealed_.push_back({chunk.labels, std::exchange(chunk.points, {})});
}

}  // namespace lockstep
