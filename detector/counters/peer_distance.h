// Which host's counters are unlike those of its peers: distance to the peer median over the noise.
//
// One series per (host, device, metric): gauges as they are, counters by their rate; both smoothed. The score of a
// host is |level - median| / max(MAD over hosts, its own history's deviation, resolution). An outlier is reported when
// the score stays high for kPersistNs. That is an observation, never an accusation. Abstains below `min_peer_hosts`
// hosts. Values that are not finite are dropped, and an interval in which a counter fell (wrap or reset) is skipped,
// never guessed; both are counted. Cost: O(1) per sample, O(series) per evaluation. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PEER_DISTANCE_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PEER_DISTANCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "detector/input.h"

namespace lockstep {

struct PeerDistanceOptions {
  int min_peer_hosts = 6;
  int max_series = 1'000'000;
};

struct CounterOutlier {
  int32_t host_slot = -1;
  std::string device;
  Metric metric = Metric::kUnspecified;
  double level = 0;
  double median = 0;
  double score = 0;
  int hosts = 0;
  int64_t since_ns = 0;  // watermark at which it was first seen
};

class PeerDistance {
 public:
  explicit PeerDistance(const PeerDistanceOptions& options) : options_(options) {}

  void Observe(int32_t host_slot, const MetricSample& sample, int64_t received_ns);

  // By device, metric and host. At most kMaxOutliers, those with the highest score.
  std::vector<CounterOutlier> Evaluate(int64_t watermark_ns);

  static constexpr size_t kMaxOutliers = 16;
  uint64_t not_finite() const { return not_finite_; }
  uint64_t resets() const { return resets_; }
  uint64_t refused() const { return refused_; }

 private:
  struct Series {
    int64_t host_ns = 0;
    double value = 0;  // newest, as sampled
    bool has_level = false;
    double level = 0;      // smoothed value or rate
    double deviation = 0;  // smoothed |value - level|
    int64_t received_ns = 0;
    int64_t outlier_since_ns = 0;
  };
  using Key = std::pair<std::string, Metric>;

  void Judge(const Key& key, std::map<int32_t, Series>* hosts, int64_t watermark_ns,
             std::vector<CounterOutlier>* found);

  PeerDistanceOptions options_;
  std::map<Key, std::map<int32_t, Series>> series_;  // by device and metric, then host slot
  int64_t series_count_ = 0;
  uint64_t not_finite_ = 0;
  uint64_t resets_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PEER_DISTANCE_H_
