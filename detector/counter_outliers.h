// The machines of a running job whose counters stand out, and what they add to the verdicts of others.
//
// Counters accuse nobody by themselves while a job runs. They name the member of a slow group (NetworkSigns), make the
// class of a verdict more precise and are its evidence; what is left are observations (AddTo). Not thread-safe. Bounded
// by CounterStream::kMaxCases.

#ifndef LOCKSTEP_DETECTOR_COUNTER_OUTLIERS_H_
#define LOCKSTEP_DETECTOR_COUNTER_OUTLIERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/counters/counter_stream.h"
#include "detector/counters/group_member.h"
#include "detector/counters/named_sign.h"
#include "detector/events/event_judge.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {

class CounterOutliers {
 public:
  // What stands out now; `watermark_ns` must not decrease.
  void Find(CounterStream& counters, const Roster& roster, int64_t watermark_ns);

  // Who in a slow group may be why it is slow: by counters that stand out, and by rules on error counters.
  std::vector<MemberSign> NetworkSigns(const std::vector<HardwareFinding>& findings) const;

  void AddTo(std::vector<Verdict>* verdicts) const;

 private:
  struct Outlier {
    std::string host;
    int64_t onset_ms = 0;
    std::vector<NamedSign> signs;  // the strongest first
  };
  static Verdict ObservationOf(const Outlier& outlier);

  std::vector<Outlier> outliers_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTER_OUTLIERS_H_
