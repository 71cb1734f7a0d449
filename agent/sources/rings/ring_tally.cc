#include "agent/sources/rings/ring_tally.h"

namespace lockstep {

void RingTally::Add(const RingTally& other) {
  reported += other.reported;
  overwritten += other.overwritten;
  over_budget += other.over_budget;
  malformed += other.malformed;
  unknown_communicator += other.unknown_communicator;
  over_allowance += other.over_allowance;
  without_job += other.without_job;
  communicators_left_out += other.communicators_left_out;
  transfers_left_out += other.transfers_left_out;
  in_flight_left_out += other.in_flight_left_out;
}

}  // namespace lockstep
