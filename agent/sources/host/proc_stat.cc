#include "agent/sources/host/proc_stat.h"

#include "agent/text_fields.h"

namespace lockstep {
namespace {

// Columns of a cpu line. Those of guests, after these, are already counted in user and nice.
enum CpuColumn { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kCpuColumns };
// A kernel older than the later columns leaves them out.
constexpr int kLeastCpuColumns = kIdle + 1;

absl::StatusOr<CpuTicks> ParseCpuLine(absl::string_view fields) {
  uint64_t columns[kCpuColumns] = {};
  for (int i = 0; i < kCpuColumns; ++i) {
    const absl::optional<uint64_t> value = ParseCount(TakeField(fields));
    if (!value.has_value() && i < kLeastCpuColumns) return absl::DataLossError("/proc/stat: malformed cpu line");
    if (!value.has_value()) break;
    columns[i] = *value;
  }
  CpuTicks ticks;
  for (const uint64_t column : columns) ticks.total += column;
  ticks.busy = ticks.total - columns[kIdle] - columns[kIowait];
  ticks.system = columns[kSystem] + columns[kIrq] + columns[kSoftirq];
  ticks.iowait = columns[kIowait];
  ticks.steal = columns[kSteal];
  return ticks;
}

}  // namespace

absl::StatusOr<ProcStat> ParseProcStat(absl::string_view text) {
  const struct {
    absl::string_view name;
    uint64_t ProcStat::*field;
  } kCounts[] = {
      {"ctxt", &ProcStat::context_switches},
      {"procs_running", &ProcStat::runnable_tasks},
      {"procs_blocked", &ProcStat::blocked_tasks},
  };
  ProcStat stat;
  bool has_cpu = false;
  while (!text.empty()) {
    absl::string_view line = TakeLine(text);
    const absl::string_view name = TakeField(line);
    if (name == "cpu") {
      absl::StatusOr<CpuTicks> ticks = ParseCpuLine(line);
      if (!ticks.ok()) return ticks.status();
      stat.cpu = *ticks;
      has_cpu = true;
      continue;
    }
    for (const auto& count : kCounts) {
      if (name == count.name) stat.*count.field = ParseCount(TakeField(line)).value_or(0);
    }
  }
  if (!has_cpu) return absl::DataLossError("/proc/stat: no line of all CPUs");
  return stat;
}

}  // namespace lockstep
