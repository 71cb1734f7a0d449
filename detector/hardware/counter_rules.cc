#include "detector/hardware/counter_rules.h"

#include "base/clock.h"
#include "base/shares.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kMinute = 60 * kNanosPerSecond;
constexpr int64_t kHour = 3600 * kNanosPerSecond;

// NVML's clock event reasons: hardware slowdown (0x8), thermal by software (0x20) and by hardware (0x40), power brake
// (0x80). The others (idle, applications' clocks, power cap, sync boost) are normal life.
constexpr double kSlowdownBits = 0x8 + 0x20 + 0x40 + 0x80;

// NVML's state of a GPU that waits for the switches of its fabric to be set up, as it does during a boot.
constexpr double kFabricInProgress = 2;
// As long as any finding stays (EventJudge::kStickyNs): what is over sooner is a flap.
constexpr int64_t kFabricPatience = 10 * kMinute;

using enum Metric;
using enum CounterTest;
using enum VerdictClass;

constexpr CounterRule kRules[] = {
    {kIbLinkDownedTotal, kIncrease, 0, kMinute, true, kLinkSlow, "lost its link"},
    {kIbExcessiveBufferOverrunErrorsTotal, kIncrease, 0, kMinute, true, kLinkSlow, "had buffer overruns"},
    {kIbLocalLinkIntegrityErrorsTotal, kIncrease, 0, kMinute, true, kLinkSlow, "had link integrity errors"},
    {kIbRnrNakRetryErrorsTotal, kIncrease, 0, kMinute, true, kLinkSlow, "gave up retries on a receiver not ready"},
    {kIbSymbolErrorsTotal, kIncrease, 120, kHour, true, kLinkSlow, "had symbol errors"},
    {kIbLinkErrorRecoveryTotal, kIncrease, 5, kMinute, false, kLinkSlow, "recovered its link from errors"},
    {kIbReceiveErrorsTotal, kIncrease, 100, 10 * kSecond, false, kLinkSlow, "received broken packets"},
    {kIbLocalAckTimeoutErrorsTotal, kIncrease, 10, 10 * kSecond, false, kLinkSlow,
     "waited in vain for acknowledgements"},
    {kIbTransmitDiscardsTotal, kIncrease, 1000, 10 * kSecond, false, kLinkSlow,
     "discarded packets that it should send"},
    {kIbRoceSlowRestartTotal, kIncrease, 100, 10 * kSecond, false, kLinkSlow, "restarted slowly after congestion"},
    {kNetCarrierChangesTotal, kIncrease, 2, kMinute, false, kLinkSlow, "lost and found its carrier"},
    {kNetReceiveCrcErrorsTotal, kIncrease, 100, 10 * kSecond, false, kLinkSlow,
     "received packets with a wrong checksum"},
    {kNetReceiveErrorsTotal, kIncrease, 100, 10 * kSecond, false, kLinkSlow, "received damaged packets"},
    {kNetTransmitErrorsTotal, kIncrease, 100, 10 * kSecond, false, kLinkSlow, "could not send packets"},
    {kIbRateBitsPerSecond, kFell, kMajorPart, 0, false, kLinkSlow, "runs its link at a lower rate than before"},
    {kNetSpeedBitsPerSecond, kFell, kMajorPart, 0, false, kLinkSlow, "runs its link at a lower speed than before"},

    {kGpuEccUncorrectedTotal, kIncrease, 0, kMinute, true, kGpuFault, "had uncorrectable memory errors"},
    {kGpuRowRemapFailure, kAbove, 0, 0, true, kGpuFault, "could not remap a memory row"},
    {kGpuRowRemapPending, kAbove, 0, 0, false, kGpuFault, "wants a reset to remap a memory row"},
    {kGpuClockEventReasons, kBits, kSlowdownBits, 0, false, kClockThrottled,
     "lowers its clock because of heat or power"},
    {kGpuPcieReplaysTotal, kIncrease, 100, kMinute, false, kPcieDegraded, "repeats PCIe packets"},
    {kGpuNvlinkCrcErrorsTotal, kIncrease, 100, kMinute, false, kNvlinkSlow, "has NVLink checksum errors"},
    {kGpuNvlinkReplayErrorsTotal, kIncrease, 0, kMinute, false, kNvlinkSlow, "repeats NVLink packets"},
    {kGpuNvlinkRecoveryErrorsTotal, kIncrease, 0, kMinute, false, kNvlinkSlow, "recovered an NVLink"},
    {kGpuNvlinkRecoveryFailuresTotal, kIncrease, 0, kMinute, false, kNvlinkSlow, "lost an NVLink"},
    {kGpuNvlinkBufferOverrunsTotal, kIncrease, 0, kMinute, false, kNvlinkSlow, "had buffer overruns of an NVLink"},
    {kGpuNvlinkIntegrityErrorsTotal, kIncrease, 0, kMinute, false, kNvlinkSlow, "had integrity errors of an NVLink"},
    {kGpuNvlinkReceiveErrorsTotal, kIncrease, 100, kMinute, false, kNvlinkSlow,
     "received broken packets over an NVLink"},
    {kGpuNvlinkMalformedPacketsTotal, kIncrease, 100, kMinute, false, kNvlinkSlow,
     "received malformed packets over an NVLink"},
    {kGpuNvlinkTransmitDiscardsTotal, kIncrease, 1000, kMinute, false, kNvlinkSlow,
     "discarded packets that it should send over an NVLink"},
    {kGpuFabricFailure, kAbove, 0, 0, true, kGpuFault, "could not join the NVLink fabric"},
    {kGpuFabricDegraded, kAbove, 0, 0, false, kNvlinkSlow, "has a degraded NVLink fabric"},
    {kGpuFabricState, kStays, kFabricInProgress, kFabricPatience, false, kNvlinkSlow,
     "has waited for its NVLink fabric for minutes"},
    // A tenth of the time; the clock event reasons show only what lasts until somebody looks. A power limit that is
    // reached is normal life.
    {kGpuThermalViolationSecondsTotal, kIncrease, 6, kMinute, false, kClockThrottled,
     "was slowed down by heat for seconds"},
    {kGpuBoardLimitViolationSecondsTotal, kIncrease, 6, kMinute, false, kClockThrottled,
     "was slowed down by a limit of its board for seconds"},
    {kGpuReliabilityViolationSecondsTotal, kIncrease, 6, kMinute, false, kClockThrottled,
     "was slowed down by its reliability limit for seconds"},
    {kHostOomKillsTotal, kIncrease, 0, kMinute, false, kProcessDead, "ran out of memory and killed a process"},
};

constexpr CeilingRule kCeilings[] = {
    {kGpuPcieLinkWidth, kGpuPcieLinkWidthMax, false, kPcieDegraded, "uses fewer PCIe lanes than it has"},
    {kGpuPcieLinkGeneration, kGpuPcieLinkGenerationMax, true, kPcieDegraded, "runs its PCIe link below its generation"},
};

}  // namespace

absl::Span<const CounterRule> CounterRules() { return kRules; }
absl::Span<const CeilingRule> CeilingRules() { return kCeilings; }

}  // namespace lockstep
