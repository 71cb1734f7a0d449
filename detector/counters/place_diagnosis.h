// Machines that went astray together, and the rack, leaf, power feed or image that they share: one finding about the
// place, and none about its machines.
//
// Together are alarms whose onsets follow each other within kTogetherMs, and the machines of a shift that was set aside
// because too many showed it. What they share is voted on (detector/model/place_vote.h); without a table of places
// nothing is found. Pure. Cost: a vote per group of alarms and per shift.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PLACE_DIAGNOSIS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PLACE_DIAGNOSIS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/counters/case_record.h"
#include "detector/model/place_table.h"
#include "detector/model/place_vote.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct PlaceFinding {
  PlaceVote vote;
  // The machine with the most evidence, with the times of all: from the first onset to the last moment.
  HistoryCase example;

  // True when this is what the case of a machine in the place is about.
  bool Explains(const HistoryCase& found) const;
};

// `cases`: one per machine, by host. `hosts`: names of all machines of the history.
std::vector<PlaceFinding> FindPlaces(absl::Span<const HistoryCase* const> cases, absl::Span<const HistoryShift> shifts,
                                     absl::Span<const std::string> hosts, const PlaceTable& places);

// Makes the verdict on the example one on the place: all its deviating machines, and how improbable it is that they
// gather there by chance. An image is the software's fault. An observation stays one.
void BlamePlace(const PlaceFinding& finding, absl::Span<const std::string> hosts, Verdict* verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PLACE_DIAGNOSIS_H_
