// What of an agent survives it, as its options ask for: the spool, and where its sources had stopped.

#ifndef LOCKSTEP_AGENT_SPOOL_FROM_OPTIONS_H_
#define LOCKSTEP_AGENT_SPOOL_FROM_OPTIONS_H_

#include <memory>

#include "agent/config.h"
#include "agent/spool/spool.h"
#include "agent/uplink/resume_keeper.h"
#include "proto/ingest.pb.h"

namespace lockstep {

struct SurvivingState {
  std::unique_ptr<Spool> spool;  // nullptr where they ask for none
  std::unique_ptr<ResumeKeeper> keeper;
};

// Waits some seconds for the disk of the spool. One that cannot be used is logged and tried again; the agent runs
// without until then, and has its sources go on by what the keeper knows.
// Thread-compatible.
SurvivingState OpenSurvivingState(const AgentOptions& options, const wire::AgentHello& hello);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_FROM_OPTIONS_H_
