#include "agent/sources/host/host_source.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/sources/host/disk_stats.h"
#include "agent/text_fields.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// The largest of these files is /proc/stat, whose line of interrupts grows with the number of CPUs and devices.
constexpr size_t kMaxFileBytes = 1024 * 1024;
// Verdicts kept on block devices and partitions. More than any host has; on overflow all are judged again.
constexpr size_t kMaxKnownDisks = 4096;
constexpr double kBytesPerKibibyte = 1024;
constexpr double kMillisPerSecond = 1000;

// Counters may step back by a few ticks (iowait does): that is no time at all.
double Share(uint64_t now, uint64_t before, double total) {
  return now > before ? std::min(1.0, static_cast<double>(now - before) / total) : 0.0;
}

// Calls `visit` with the name, without a colon, and the value of each line "name value ...".
void ForEachNamedCount(absl::string_view text, const std::function<void(absl::string_view, uint64_t)>& visit) {
  while (!text.empty()) {
    absl::string_view line = TakeLine(text);
    const absl::string_view name = absl::StripSuffix(TakeField(line), ":");
    const absl::optional<uint64_t> value = ParseCount(TakeField(line));
    if (value.has_value()) visit(name, *value);
  }
}

}  // namespace

absl::Status HostSource::Collect(const Tick& tick, wire::AgentReport& report) {
  MetricBlockBuilder block(report, "", tick.monotonic_ns);
  const absl::Status results[] = {
      CollectCpu(block),    CollectPressure(tick, block), CollectMemory(block),
      CollectVmstat(block), CollectLoad(block),           CollectDisks(tick, report),
  };
  last_tick_ns_ = tick.monotonic_ns;
  for (const absl::Status& result : results) {
    if (!result.ok() && !absl::IsNotFound(result)) return result;
  }
  return block.empty() ? NoData("nothing under /proc") : absl::OkStatus();
}

absl::Status HostSource::CollectCpu(MetricBlockBuilder& block) {
  ASSIGN_OR_RETURN(const std::string text, fs_.ReadFile("proc/stat", kMaxFileBytes));
  ASSIGN_OR_RETURN(const ProcStat stat, ParseProcStat(text));
  if (last_cpu_.has_value() && stat.cpu.total > last_cpu_->total) {
    const double total = static_cast<double>(stat.cpu.total - last_cpu_->total);
    block.Add(Metric::kHostCpuBusyRatio, Share(stat.cpu.busy, last_cpu_->busy, total));
    block.Add(Metric::kHostCpuSystemRatio, Share(stat.cpu.system, last_cpu_->system, total));
    block.Add(Metric::kHostCpuIowaitRatio, Share(stat.cpu.iowait, last_cpu_->iowait, total));
    block.Add(Metric::kHostCpuStealRatio, Share(stat.cpu.steal, last_cpu_->steal, total));
  }
  last_cpu_ = stat.cpu;
  block.Add(Metric::kHostRunnableTasks, static_cast<double>(stat.runnable_tasks));
  block.Add(Metric::kHostBlockedTasks, static_cast<double>(stat.blocked_tasks));
  block.Add(Metric::kHostContextSwitchesTotal, static_cast<double>(stat.context_switches));
  return absl::OkStatus();
}

absl::Status HostSource::CollectPressure(const Tick& tick, MetricBlockBuilder& block) {
  static constexpr struct {
    absl::string_view path;
    Metric some;
    Metric full;  // the whole host is never without a CPU: that line is always 0
  } kFiles[kResources] = {
      {"proc/pressure/cpu", Metric::kHostPressureCpuSomeRatio, Metric::kUnspecified},
      {"proc/pressure/memory", Metric::kHostPressureMemorySomeRatio, Metric::kHostPressureMemoryFullRatio},
      {"proc/pressure/io", Metric::kHostPressureIoSomeRatio, Metric::kHostPressureIoFullRatio},
  };
  const double elapsed_us =
      last_tick_ns_.has_value() ? static_cast<double>(tick.monotonic_ns - *last_tick_ns_) / kNanosPerMicro : 0;
  const auto add = [&](Metric metric, absl::optional<uint64_t> now, absl::optional<uint64_t> before) {
    if (metric == Metric::kUnspecified || !now.has_value() || !before.has_value() || elapsed_us <= 0) return;
    block.Add(metric, Share(*now, *before, elapsed_us));
  };
  for (size_t i = 0; i < kResources; ++i) {
    const absl::StatusOr<std::string> text = fs_.ReadFile(kFiles[i].path, kMaxFileBytes);
    // A kernel with PSI that is switched off (psi=0) has the files but answers EOPNOTSUPP.
    if (absl::IsNotFound(text.status()) || absl::IsUnimplemented(text.status())) continue;
    if (!text.ok()) return text.status();
    ASSIGN_OR_RETURN(const Pressure pressure, ParsePressure(*text));
    add(kFiles[i].some, pressure.some_us, last_pressure_[i].some_us);
    add(kFiles[i].full, pressure.full_us, last_pressure_[i].full_us);
    last_pressure_[i] = pressure;
  }
  return absl::OkStatus();
}

absl::Status HostSource::CollectMemory(MetricBlockBuilder& block) {
  ASSIGN_OR_RETURN(const std::string text, fs_.ReadFile("proc/meminfo", kMaxFileBytes));
  absl::optional<double> swap_total;
  absl::optional<double> swap_free;
  ForEachNamedCount(text, [&](absl::string_view name, uint64_t kibibytes) {
    const double bytes = static_cast<double>(kibibytes) * kBytesPerKibibyte;
    if (name == "MemTotal") block.Add(Metric::kHostMemoryTotalBytes, bytes);
    if (name == "MemAvailable") block.Add(Metric::kHostMemoryAvailableBytes, bytes);
    if (name == "Dirty") block.Add(Metric::kHostMemoryDirtyBytes, bytes);
    if (name == "SwapTotal") swap_total = bytes;
    if (name == "SwapFree") swap_free = bytes;
  });
  if (swap_total.has_value() && swap_free.has_value()) {
    block.Add(Metric::kHostSwapUsedBytes, std::max(0.0, *swap_total - *swap_free));
  }
  return absl::OkStatus();
}

absl::Status HostSource::CollectVmstat(MetricBlockBuilder& block) {
  ASSIGN_OR_RETURN(const std::string text, fs_.ReadFile("proc/vmstat", kMaxFileBytes));
  ForEachNamedCount(text, [&](absl::string_view name, uint64_t value) {
    if (name == "pgmajfault") block.Add(Metric::kHostMajorFaultsTotal, static_cast<double>(value));
    if (name == "oom_kill") block.Add(Metric::kHostOomKillsTotal, static_cast<double>(value));
  });
  return absl::OkStatus();
}

absl::Status HostSource::CollectLoad(MetricBlockBuilder& block) {
  ASSIGN_OR_RETURN(const std::string text, fs_.ReadFile("proc/loadavg", kMaxFileBytes));
  absl::string_view line = text;
  double load = 0;
  if (!absl::SimpleAtod(TakeField(line), &load)) return absl::DataLossError("/proc/loadavg: no number");
  block.Add(Metric::kHostLoad1, load);
  return absl::OkStatus();
}

absl::Status HostSource::CollectDisks(const Tick& tick, wire::AgentReport& report) {
  ASSIGN_OR_RETURN(const std::string text, fs_.ReadFile("proc/diskstats", kMaxFileBytes));
  size_t reported = 0;
  uint64_t dropped = 0;
  for (const DiskStats& disk : ParseDiskStats(text)) {
    if (!IsWholeDisk(disk.name)) continue;
    if (reported == kMaxDisks) {
      ++dropped;
      continue;
    }
    ++reported;
    MetricBlockBuilder block(report, disk.name, tick.monotonic_ns);
    block.Add(Metric::kDiskReadBytesTotal, static_cast<double>(disk.read_bytes));
    block.Add(Metric::kDiskWrittenBytesTotal, static_cast<double>(disk.written_bytes));
    block.Add(Metric::kDiskBusySecondsTotal, static_cast<double>(disk.busy_ms) / kMillisPerSecond);
    block.Add(Metric::kDiskInFlight, static_cast<double>(disk.in_flight));
  }
  if (dropped > 0) {
    wire::Dropped* const entry = report.add_dropped();
    entry->set_reason("host_disks");
    entry->set_count(dropped);
  }
  return absl::OkStatus();
}

bool HostSource::IsWholeDisk(absl::string_view name) {
  const auto known = whole_disks_.find(name);
  if (known != whole_disks_.end()) return known->second;
  // /sys/block lists whole devices only.
  const bool whole =
      !absl::StartsWith(name, "loop") && !absl::StartsWith(name, "ram") && fs_.Exists(absl::StrCat("sys/block/", name));
  if (whole_disks_.size() >= kMaxKnownDisks) whole_disks_.clear();
  whole_disks_.emplace(name, whole);
  return whole;
}

}  // namespace lockstep
