// The machines of a running job whose counters stand out, and what they add to the verdicts of others.
//
// Counters accuse nobody by themselves while a job runs. They name the member of a slow group (NetworkSigns), make the
// class of a verdict more precise and are its evidence; what is left are observations (AddTo). Machines that stand out
// together and share a rack, leaf, power feed or image are one observation about that place and none about themselves
// (counters/place_diagnosis.h). It stands until kTogetherMs after it was last seen, and keeps the machines of its
// first sight, so that one cause stays one incident while machines come and go.
//
// Not thread-safe. At most kMaxPlaces places and kMaxOutliers machines: those that no place explains first, then those
// with the most evidence.

#ifndef LOCKSTEP_DETECTOR_COUNTER_OUTLIERS_H_
#define LOCKSTEP_DETECTOR_COUNTER_OUTLIERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/counters/counter_history.h"
#include "detector/counters/counter_stream.h"
#include "detector/counters/group_member.h"
#include "detector/counters/place_diagnosis.h"
#include "detector/events/event_judge.h"
#include "detector/places/place_table.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {

class CounterOutliers {
 public:
  static constexpr size_t kMaxOutliers = 16;
  static constexpr size_t kMaxPlaces = 16;

  // What stands out now; `watermark_ns` must not decrease. `places` may be empty.
  void Find(CounterStream& counters, const Roster& roster, const PlaceTable& places, int64_t watermark_ns);

  // Who in a slow group may be why it is slow: by counters that stand out, and by rules on error counters.
  std::vector<MemberSign> NetworkSigns(const std::vector<HardwareFinding>& findings) const;

  void AddTo(std::vector<Verdict>* verdicts) const;

 private:
  struct Outlier {
    std::string host;
    bool is_of_place = false;  // a place explains it
    HistoryCase found;
  };
  // A place that is, or was a moment ago, astray.
  struct StandingPlace {
    PlaceFinding finding;
    Verdict observation;
  };

  void FindPlacesOf(const std::vector<Outlier>& outliers, const std::vector<HistoryShift>& shifts, const Roster& roster,
                    const PlaceTable& places, int64_t now_ms);
  void Stand(PlaceFinding finding, const std::vector<std::string>& hosts);
  static Verdict ObservationOf(const HistoryCase& found, const std::string& host);

  std::vector<Outlier> outliers_;
  std::vector<StandingPlace> standing_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTER_OUTLIERS_H_
