// How large one report of one agent may be. Everything beyond is refused before it costs memory or time.
//
// Constants only: Immutable.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_REPORT_LIMITS_H_
#define LOCKSTEP_COLLECTOR_CONVERT_REPORT_LIMITS_H_

#include <cstdint>

namespace lockstep {

inline constexpr int kMaxMessageBytes = 4 << 20;  // of one gRPC message, in both directions

inline constexpr int kMaxHostBytes = 253;  // a DNS name
inline constexpr int kMaxJobBytes = 128;
inline constexpr int kMaxPodBytes = 320;   // a namespace of 63 and a name of 253
inline constexpr int kMaxNameBytes = 128;  // devices, communicators, sources, versions, reasons
inline constexpr int kMaxTextBytes = 4096;

inline constexpr int kMaxProcessesPerReport = 1'024;
inline constexpr int kMaxJobsPerReport = 64;
inline constexpr int kMaxCommunicatorsPerProcess = 4'096;
inline constexpr int kMaxTransfersPerCommunicator = 4'096;
inline constexpr int kMaxFurtherInFlight = 256;  // of one communicator of one rank
inline constexpr int kMaxOperationsPerBatch = 200'000;
inline constexpr int kMaxMetricBlocksPerReport = 8'192;
inline constexpr int kMaxMetricValuesPerReport = 100'000;
inline constexpr int kMaxKernelEventsPerReport = 4'096;
inline constexpr int kMaxSourcesPerReport = 256;
inline constexpr int kMaxMissingPartsPerSource = 64;
inline constexpr int kMaxDropReasonsPerReport = 256;
inline constexpr int kMaxCommandResultsPerReport = 64;
inline constexpr int kMaxPulledBatchesPerReport = 100'000;
inline constexpr int kMaxUnpackedBytesPerReport = 8 << 20;  // of packed answers
inline constexpr int kMaxRasFindingsPerReport = 256;
inline constexpr int kMaxDemandKinds = 16;  // that an agent may say it carries out

inline constexpr int32_t kMaxRanks = 1'000'000;
inline constexpr int32_t kMaxExitCode = 255;
inline constexpr int32_t kMaxSignal = 127;  // what fits into a status of wait(2)
inline constexpr uint32_t kMaxStride = 1u << 20;
inline constexpr int64_t kMaxMonotonicNanos = int64_t{1} << 62;          // 146 years after boot
inline constexpr int64_t kMaxDurationNanos = 30LL * 86'400'000'000'000;  // 30 days inside one operation
inline constexpr int64_t kMaxStartOffsetNanos = 86'400'000'000'000;      // start before enqueue, by clock error
inline constexpr int64_t kMaxWaitedNanos = 86'400'000'000'000;           // the longest age of an outbox, a day
inline constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_REPORT_LIMITS_H_
