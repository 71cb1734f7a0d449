// Why something is found, or is not: one of a closed set of reasons, with its names, numbers and units.
//
// Judges make reasons and logic looks at them; no logic reads English. The sentences are written when somebody reads
// them: for tables, JSON, incidents and alerts alike. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_VERDICT_REASON_H_
#define LOCKSTEP_DETECTOR_VERDICT_REASON_H_

#include <string>
#include <variant>

#include "detector/verdict/abstention.h"
#include "detector/verdict/counter_reasons.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/host_reasons.h"
#include "detector/verdict/job_reasons.h"
#include "detector/verdict/network_reasons.h"
#include "detector/verdict/slow_reasons.h"

namespace lockstep {

using Reason = std::variant<
    // Nothing is concluded.
    NoRecords, FewSteps, MissingRanks, RanksWithoutTimes, LostRecords, NoMeeting, OpenWait, SlowWithoutCause,
    LongerWork, CausesRuledOut, FewCounters, InputNote,
    // The job, or the layout of its work.
    LongStage, RotatingStalls, VaryingBatches, LongReplica, HotExpert, LongerEverywhere, SlowDrift, CommonPause,
    // Slow ranks and hosts.
    OwnTimeExcess, GrewAlone, HostWaitLeftOut, ExcessPlace, LateLaunches, OtherSteps, CriticalPathShare,
    CounterfactualOwnTime, SameEvent, SharedCost,
    // Paths of the network.
    SlowPathTransfers, StalledTransfers, CounterfactualTransfers, LongerWaits, UsualWaitsStep, LateGpu, NetworkClear,
    // Hangs.
    HeldUpRanks, ProcessCannotRun, Waiters, Victims, HostSilence, HostRecordsEnd, DeadProcesses, MembersWithoutRecord,
    StuckTransfer, DifferentTuning, DifferentCall, DifferentOrder, NothingFinishedSince,
    // Hosts, their processes, and NCCL's RAS service.
    KernelLine, HardwareReport, ProgramStorm, RasSays, RasCountsLaunches, WaitsForDevice, CpuTime,
    // Counters.
    NoCounters, CounterExcursion, NotLookedAt, SamplesLeftOut, JobDidLess, NoDegradationSeen, PlaceStandsOut,
    OnlyMemberStandsOut>;

std::string Sentence(const Reason& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_REASON_H_
