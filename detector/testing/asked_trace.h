// What the hang search says of a trace, asked as tests ask it, and what a trace lacks for it to say more. Pure.

#ifndef LOCKSTEP_DETECTOR_TESTING_ASKED_TRACE_H_
#define LOCKSTEP_DETECTOR_TESTING_ASKED_TRACE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// A line of JSON each.
std::string Told(const std::vector<Verdict>& verdicts);

// Ranks that are named; -1 stands for whole hosts.
std::set<int32_t> Accused(const std::vector<Verdict>& verdicts);

std::vector<Verdict> VerdictsOf(const Trace& trace, absl::Span<const HostEvent> events, bool stalls_pass);

// Of the records of a rank, in nanoseconds of its host; 0 without any.
int64_t LastMoment(const Trace& trace, size_t rank);

// Somebody looked at every rank so long after its last record.
void LookAfter(int64_t after_ns, Trace* trace);

// The hosts of ranks that stand somewhere call one more operation so long after the last record of theirs.
void CallOneMore(int64_t after_ns, Trace* trace);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_ASKED_TRACE_H_
