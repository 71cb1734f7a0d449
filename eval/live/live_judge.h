// Judges a recording as users meet it: its agents report it through the wire to the collector's engine, in virtual
// time, as `lockstep feed` plays it to a collector.
//
// What was told in the course of the play is one report: the conclusion of the last look, and behind it every cause
// that was told before and has no newer word about it, so that whoever was accused at any look is accused. Same
// evidence, same report. Thread-safe.
//
// DATA_LOSS where there is nothing to play, as `feed` says it, or where a collector would refuse a report.

#ifndef LOCKSTEP_EVAL_LIVE_LIVE_JUDGE_H_
#define LOCKSTEP_EVAL_LIVE_LIVE_JUDGE_H_

#include "absl/status/statusor.h"
#include "detector/engine/job_engine.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "eval/live/conclusion_timeline.h"

namespace lockstep {

// `timeline`, when there is one, is told every look.
absl::StatusOr<JobReport> JudgeLive(const JobEvidence& evidence, const JobEngineOptions& options,
                                    ConclusionTimeline* timeline);

// `last` and what `timeline` has beside it: causes that vanished, but for those whose culprits, or, where nobody is
// accused, whose class, a verdict of `last` speaks of.
JobReport EverTold(const ConclusionTimeline& timeline, JobReport last);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_LIVE_JUDGE_H_
