// The part of one report that goes to one job: what will be logged, and what the engine will be given.
//
// Pure value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_INGEST_JOB_SLICE_H_
#define LOCKSTEP_COLLECTOR_INGEST_JOB_SLICE_H_

#include <cstddef>

#include "collector/ingest/agent_ledger.h"
#include "detector/model/input.h"
#include "detector/model/place_table.h"
#include "proto/capture.pb.h"

namespace lockstep {

struct JobSlice {
  wire::CaptureInput input;  // not yet stamped with the receive time, nor is `report`
  HostReport report;         // the same, converted
  Places places;             // of the host; those of the input
  AgentLedger::Ticket ticket;
  size_t bytes = 0;  // of the input, for limits
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_JOB_SLICE_H_
