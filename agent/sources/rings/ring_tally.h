// What became of the operations and communicators of rings on their way into a report. Thread-compatible.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_RING_TALLY_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_RING_TALLY_H_

#include <cstdint>

namespace lockstep {

// Counts of one report, to be added up.
struct RingTally {
  uint64_t reported = 0;
  uint64_t overwritten = 0;           // gone before the agent could read them
  uint64_t over_budget = 0;           // left out by `stride`
  uint64_t malformed = 0;             // make no sense
  uint64_t unknown_communicator = 0;  // of a communicator that did not fit into the recorder's table
  uint64_t over_allowance = 0;        // not looked at: beyond the ring's share of a tick
  uint64_t without_job = 0;           // of processes whose job has no name yet
  uint64_t communicators_left_out = 0;
  uint64_t transfers_left_out = 0;
  uint64_t in_flight_left_out = 0;  // of those that are told where there is room

  void Add(const RingTally& other);
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_RING_TALLY_H_
