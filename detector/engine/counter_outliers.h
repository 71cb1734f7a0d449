// The machines of a running job whose counters stand out now, and what they add to the verdicts of others: what
// counter_diagnosis.h says of a whole history, said again and again while the job runs.
//
// Where operation records judge the job, counters accuse nobody by themselves: they name the member of a slow group
// (NetworkSigns), make the class of a verdict more precise and are its evidence; what is left are observations (AddTo).
// Where no record tells, a machine that stands out while the job is degraded is accused. Machines that stand out
// together and share a rack, leaf, power feed or image are one verdict about that place and none about themselves
// (counters/place_diagnosis.h). It stands until kTogetherMs after it was last seen, and keeps the machines of its
// first sight, so that one cause stays one incident while machines come and go. For the same reason a culprit is the
// whole host, and the class of an accusation the one that it began with.
//
// Not thread-safe. At most kMaxPlaces places and kMaxOutliers machines: accused ones first, then those that no place
// explains, then those with the most evidence.

#ifndef LOCKSTEP_DETECTOR_ENGINE_COUNTER_OUTLIERS_H_
#define LOCKSTEP_DETECTOR_ENGINE_COUNTER_OUTLIERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detector/counters/case_record.h"
#include "detector/counters/counter_stream.h"
#include "detector/counters/group_member.h"
#include "detector/counters/place_diagnosis.h"
#include "detector/hardware/event_judge.h"
#include "detector/model/place_table.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

class CounterOutliers {
 public:
  // Bounds of what people read; what is beyond them is dropped.
  static constexpr size_t kMaxOutliers = 16;
  static constexpr size_t kMaxPlaces = 16;

  struct Context {
    const CounterStream& counters;
    const Roster& roster;
    const PlaceTable& places;  // may be empty
    bool may_accuse = false;   // no operation record judges the job
    int min_hosts = 2;         // with fewer, nothing is said
    int64_t watermark_ns = 0;  // must not decrease
  };
  // What stands out now.
  void Find(const Context& context);

  // Who in a slow group may be why it is slow: by counters that stand out, and by rules on error counters.
  std::vector<MemberSign> NetworkSigns(const std::vector<HardwareFinding>& findings) const;

  void AddTo(std::vector<Verdict>* verdicts) const;

 private:
  struct Outlier {
    std::string host;
    bool is_of_place = false;  // a place explains it
    bool is_of_crowd = false;  // so many stand out that it tells nothing (counters/crowd.h)
    HistoryCase found;
    Verdict verdict;
  };
  // A place that is, or was a moment ago, astray.
  struct StandingPlace {
    PlaceFinding finding;
    Verdict verdict;
  };

  void FindPlacesOf(const Context& context);
  void Stand(PlaceFinding finding, const std::vector<std::string>& hosts, const Context& context);
  void KeepFirstClasses();
  void FindCrowds(size_t machines);
  void DropBeyondLimit();
  static Verdict WholeHost(Verdict verdict);

  std::vector<Outlier> outliers_;
  std::vector<StandingPlace> standing_;
  std::map<std::string, VerdictClass> accused_as_;  // by host, of those that stand
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_COUNTER_OUTLIERS_H_
