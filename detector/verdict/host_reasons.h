// What hosts, their processes and NCCL's RAS service say of themselves, and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_HOST_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_HOST_REASONS_H_

#include <compare>
#include <cstdint>
#include <string>

#include "detector/model/input.h"
#include "detector/model/ras_answer.h"

namespace lockstep {

// What a device complains of: a line of the kernel log or as much of NVML, the rule of a counter, or a source of the
// agent that fails. Ordered as reports list them.
struct HardwareSign {
  KernelEventKind event = KernelEventKind::kUnknown;  // unknown = a counter
  int64_t code = 0;                                   // of the Xid or SXid
  std::string meaning;  // of the code or the rule, in the words of its catalogue: "lost its link"
  auto operator<=>(const HardwareSign&) const = default;
};

struct KernelLine {
  std::string host;
  KernelEventKind event = KernelEventKind::kUnknown;
  int64_t code = 0;
  std::string device;
  std::string meaning;      // of the code; empty = not known
  double age_seconds = -1;  // negative = not told
  std::string text;         // of the line; empty = not told
  bool operator==(const KernelLine&) const = default;
};

struct HardwareReport {
  std::string host;
  std::string device;  // empty = the host
  HardwareSign sign;
  uint64_t count = 0;
  double age_seconds = 0;  // of the last
  bool operator==(const HardwareReport&) const = default;
};

// Many hosts report at one time what a program did.
struct ProgramStorm {
  HardwareSign sign;
  int32_t hosts = 0;
  uint64_t lines = 0;
  bool operator==(const ProgramStorm&) const = default;
};

struct RasSays {
  RasClaim claim;
  int32_t rank = -1;    // of the job; -1 = nobody recorded it
  int32_t answers = 1;  // in a row that say so
  double age_seconds = 0;
  bool contradicted = false;  // the records do not show it
  bool operator==(const RasSays&) const = default;
};

struct RasCountsLaunches {
  bool operator==(const RasCountsLaunches&) const = default;
};

struct WaitsForDevice {
  double share = 0;  // of the recent reports
  bool operator==(const WaitsForDevice&) const = default;
};

// Per step, of the rank and of the median of its peers.
struct CpuTime {
  double seconds = 0;
  double peer_seconds = 0;
  bool starved = false;  // it gets the CPU too rarely; else it is busy for longer
  bool operator==(const CpuTime&) const = default;
};

std::string Sentence(const KernelLine& reason);
std::string Sentence(const HardwareReport& reason);
std::string Sentence(const ProgramStorm& reason);
std::string Sentence(const RasSays& reason);
std::string Sentence(const RasCountsLaunches& reason);
std::string Sentence(const WaitsForDevice& reason);
std::string Sentence(const CpuTime& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_HOST_REASONS_H_
