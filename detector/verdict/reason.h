// Why something is found, or is not: one of a closed set of reasons, with its names, numbers and units.
//
// Judges make reasons and logic looks at them; no logic reads English. The sentences are written when somebody reads
// them: for tables, JSON, incidents and alerts alike. Immutable values, shared by their copies; thread-compatible.
//
// A std::variant of these kinds would say the same, but each file that copies a verdict would compile sixty-odd
// constructors, destructors and comparisons: half of the time of the whole build.

#ifndef LOCKSTEP_DETECTOR_VERDICT_REASON_H_
#define LOCKSTEP_DETECTOR_VERDICT_REASON_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "detector/verdict/abstention.h"
#include "detector/verdict/counter_reasons.h"
#include "detector/verdict/end_reasons.h"
#include "detector/verdict/hang_reasons.h"
#include "detector/verdict/host_reasons.h"
#include "detector/verdict/job_reasons.h"
#include "detector/verdict/network_reasons.h"
#include "detector/verdict/pattern_reasons.h"
#include "detector/verdict/slow_reasons.h"

namespace lockstep {

template <typename... Kinds>
struct ReasonKindList {
  template <typename Kind>
  static constexpr bool kHas = (std::is_same_v<Kind, Kinds> || ...);
};

using ReasonKinds = ReasonKindList<
    // Nothing is concluded.
    NoRecords, FewSteps, MissingRanks, RanksWithoutTimes, LostRecords, NoMeeting, OpenWait, SlowWithoutCause,
    LongerWork, CausesRuledOut, FewCounters, CrowdOfMachines, NoRecordsSent, TimesOfHandingOver, StepLengthUnknown,
    InputNote,
    // The job, or the layout of its work.
    LongStage, RotatingStalls, VaryingBatches, LongReplica, GivenMore, HotExpert, LongerEverywhere, SlowDrift,
    CommonPause,
    // Slow ranks and hosts.
    OwnTimeExcess, GrewAlone, HostWaitLeftOut, HiddenPeerWork, ExcessPlace, DutyOfPlace, LateReturn, LateLaunches,
    OtherSteps, CriticalPathShare, CounterfactualOwnTime, SameEvent, SharedCost,
    // Paths of the network.
    SlowPathTransfers, StalledTransfers, CounterfactualTransfers, LongerWaits, UsualWaitsStep, LateGpu, NetworkClear,
    // Hangs.
    HeldUpRanks, ProcessCannotRun, Waiters, Victims, HostSilence, JobSilence, HostRecordsEnd, DeadProcesses,
    MembersWithoutRecord, HolderUnknown, StuckTransfer, DifferentTuning, DifferentCall, DifferentOrder,
    NothingFinishedSince,
    // Processes that ended.
    ProcessEnded, LastRecorded, DeathsThatFollowed, DeathsTooNear, DiedInHang,
    // Hosts, their processes, and NCCL's RAS service.
    KernelLine, HardwareReport, ProgramStorm, RasSays, RasCountsLaunches, WaitsForDevice, CpuTime,
    // Profiles.
    WorkTakesLonger, FunctionTakesLonger, ProfilesAlike, ProfilesLeftOut,
    // Counters.
    NoCounters, CounterExcursion, NotLookedAt, SamplesLeftOut, JobDidLess, NoDegradationSeen, PlaceStandsOut,
    OnlyMemberStandsOut>;

// Adds `by` to the numbers of steps that a reason has, where they are known (not negative).
template <typename Kind>
void MoveSteps(int64_t by, Kind& kind) {
  const auto move = [by](auto& step) {
    if (static_cast<int64_t>(step) < 0) return;
    step = static_cast<std::remove_reference_t<decltype(step)>>(std::max<int64_t>(static_cast<int64_t>(step) + by, 0));
  };
  if constexpr (requires { kind.first_step; }) move(kind.first_step);
  if constexpr (requires { kind.last_step; }) move(kind.last_step);
  if constexpr (requires { kind.step; }) move(kind.step);
}

class Reason {
 public:
  Reason() : Reason(NoRecords{}) {}
  template <typename Kind>
  requires(ReasonKinds::kHas<Kind>) Reason(Kind kind)  // NOLINT(google-explicit-constructor): a kind is a reason
      : content_(std::make_shared<const ContentOf<Kind>>(std::move(kind))) {}

  // nullptr = of another kind.
  template <typename Kind>
  const Kind* As() const {
    static_assert(ReasonKinds::kHas<Kind>);
    const auto* const content = dynamic_cast<const ContentOf<Kind>*>(content_.get());
    return content == nullptr ? nullptr : &content->kind;
  }

  // The same with its steps counted from elsewhere.
  Reason WithStepsMoved(int64_t by) const { return content_->Moved(by); }

  bool operator==(const Reason& other) const { return content_->Equals(*other.content_); }

  friend std::string Sentence(const Reason& reason) { return reason.content_->Say(); }

 private:
  struct Content {
    virtual ~Content() = default;
    virtual bool Equals(const Content& other) const = 0;
    virtual std::string Say() const = 0;
    virtual Reason Moved(int64_t by) const = 0;
  };

  template <typename Kind>
  struct ContentOf final : Content {
    explicit ContentOf(Kind value) : kind(std::move(value)) {}
    bool Equals(const Content& other) const override {
      const auto* const same = dynamic_cast<const ContentOf*>(&other);
      return same != nullptr && same->kind == kind;
    }
    std::string Say() const override { return Sentence(kind); }
    Reason Moved(int64_t by) const override {
      Kind moved = kind;
      MoveSteps(by, moved);
      return moved;
    }

    Kind kind;
  };

  std::shared_ptr<const Content> content_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_REASON_H_
