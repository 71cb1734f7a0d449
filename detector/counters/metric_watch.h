// One metric of one job: its units, sorted into groups of equal duty, each group compared within itself.
//
// Duties are given per unit by the caller (roles from the collectives), or -1 = not known. Units without one are one
// group at first; after kLearningTicks their usual levels tell whether they are several (behaviour.h), and they start
// anew in groups of their own. Work is compared twice: tick by tick, and in sums in which steps do not show
// (work_sums.h), as if it were read slowly. Memory: that of PeerGroup, twice for work, and 100 bytes per unit. Not
// thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_METRIC_WATCH_H_
#define LOCKSTEP_DETECTOR_COUNTERS_METRIC_WATCH_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "detector/counters/metric_traits.h"
#include "detector/counters/peer_group.h"
#include "detector/counters/work_sums.h"

namespace lockstep {

// Something that a unit does and its peers do not.
struct CounterSign {
  int32_t host = -1;
  std::string device;
  int32_t watch = -1;   // which metric, of the caller's
  Excursion excursion;  // its unit is that of the watch
  int32_t peers = 0;    // units compared
  double tick_seconds = 1;
  bool has_changed = true;  // false = the unit has shown one and the same value ever since it is watched
};

class MetricWatch {
 public:
  // A usual level is then known to an eighth of its noise; gaps between duties are wider.
  static constexpr int kLearningTicks = 60;

  MetricWatch(std::string name, Metric metric, const PeerGroupOptions& options, double tick_seconds = 1);

  // Returns the unit's row: 0, 1, ...
  int32_t AddUnit(int32_t host, const std::string& device, int32_t duty);

  // One value per row, NaN = unknown. `time_ms` must increase. `regime`: what the job as a whole does.
  void Step(absl::Span<const float> values, int64_t time_ms, double tick_seconds, int regime);

  // Units of these hosts are each other's peers; -1 or beyond = not known. If anybody's peers change, all are learnt
  // anew; duties that only name the groups that are there change nothing that is known.
  void SetDuties(absl::Span<const int32_t> duty_of_host);

  // See PeerGroup.
  void Need(double evidence);
  void DateDegradation(int64_t slower_since_ms);
  void Resettle();

  // Appends what stands out now, by group and unit.
  void AppendSigns(int32_t watch, std::vector<CounterSign>* signs) const;
  bool HasSigns() const;

  const std::string& name() const { return name_; }
  Metric metric() const { return metric_; }
  const MetricTraits& traits() const { return traits_; }
  double tick_seconds() const { return tick_seconds_; }  // the newest; before any, the usual
  int32_t units() const { return static_cast<int32_t>(units_.size()); }
  int32_t HostOf(int32_t row) const { return units_[static_cast<size_t>(row)].host; }
  const std::string& DeviceOf(int32_t row) const { return units_[static_cast<size_t>(row)].device; }
  // Of the largest group; NaN = unknown. The mean counts units that are away, too.
  double median() const;
  double mean() const;

 private:
  struct Unit {
    int32_t host = -1;
    std::string device;
    int32_t duty = -1;
    size_t group = 0;
    int32_t index = 0;                                      // within the group
    float first = std::numeric_limits<float>::quiet_NaN();  // value; NaN = none yet
    bool has_changed = false;                               // whatever its groups: they may be made anew
  };
  struct Group {
    int32_t duty = -1;
    std::unique_ptr<PeerGroup> peers;
    std::unique_ptr<PeerGroup> slowly;  // the same units in sums; of work alone
    WorkSums sums;
    std::vector<int32_t> rows;
    std::vector<float> values;
  };

  void Place(int32_t row, int32_t duty);
  void NoteChanges(absl::Span<const float> values);
  void StepSums(Group* group, int64_t time_ms, double tick_seconds, int regime) const;
  void Append(int32_t watch, const Group& group, const PeerGroup& peers, double tick_seconds,
              std::vector<CounterSign>* signs) const;
  void SortByBehaviour();
  const PeerGroup* Largest() const;

  std::string name_;
  Metric metric_;
  MetricTraits traits_;
  PeerGroupOptions options_;
  std::vector<Unit> units_;
  std::vector<Group> groups_;
  int64_t ticks_ = 0;
  double tick_seconds_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_METRIC_WATCH_H_
