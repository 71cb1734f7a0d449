// What all analyses of a trace share: matched operations, roles, steps, which of them are whole, own times and their
// profile, in this order of dependence. Built once per trace, read by everybody. The trace must outlive it.
// Thread-compatible once built.

#ifndef LOCKSTEP_DETECTOR_STEPS_TRACE_ANALYSIS_H_
#define LOCKSTEP_DETECTOR_STEPS_TRACE_ANALYSIS_H_

#include <vector>

#include "base/executor.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/own_time.h"
#include "detector/steps/peer_sample.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/step_profile.h"

namespace lockstep {

struct TraceAnalysis {
  const std::vector<int32_t>& PeersByWaitingOf(size_t rank) const {
    return peers[static_cast<size_t>(roles.class_of_rank[rank])];
  }

  const Trace* trace = nullptr;
  OperationInstances matched;
  JobRoles roles;
  PeersByWaiting peers;  // of the roles' classes
  StepTable steps;
  std::vector<char> whole_steps;     // see whole_steps.h
  std::vector<char> without_begins;  // by rank: see begins_seen.h
  OwnTimes times;
  RoutedSpread routing;
  OwnProfile profile;
};

// `flip_lateness` turns every excess round, so that the fastest rank looks slow: only for tests that have to see
// quality collapse when the engine is broken.
TraceAnalysis AnalyseTrace(const Trace& trace, bool flip_lateness, Executor* executor = nullptr);

// The input of the structural tests.
StepProfile StructuralProfile(const TraceAnalysis& analysis);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_TRACE_ANALYSIS_H_
