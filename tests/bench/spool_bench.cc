// What the spool costs a report, and what kills of its process cost: `./dev bench spool`.
//
//   spool_add_off, spool_add_on   Outbox::Add of a report of 20 KB and what Uplink::Send does besides, per report
//   spool_records_lost            of 1,000,000 reports that were told to be written, over 50 kills (--records, --kills)

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/spool/segment_log.h"
#include "agent/spool/spool.h"
#include "agent/uplink/outbox.h"
#include "base/boot_clock.h"
#include "base/check.h"
#include "base/clock.h"
#include "proto/telemetry.pb.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr int64_t kWaitNanos = 60 * kNanosPerSecond;

SegmentLogOptions LogOptions(const std::string& directory, uint64_t incarnation) {
  SegmentLogOptions options;
  options.directory = directory;
  options.host = "node";
  options.boot_id = "boot";
  options.incarnation = incarnation;
  options.max_bytes = size_t{8} << 30;
  return options;
}

std::unique_ptr<Spool> MakeSpool(const std::string& directory, uint64_t incarnation) {
  auto spool = std::make_unique<Spool>(
      std::make_unique<SegmentLog>(LogOptions(directory, incarnation), RealClock(), RealBootClock()), kNanosPerSecond,
      RealClock());
  CHECK(spool->WaitOpen(kWaitNanos));
  return spool;
}

wire::AgentReport TypicalReport() {
  wire::AgentReport report;
  for (int i = 0; i < 40; ++i) {
    wire::MetricBlock& block = *report.add_metrics();
    for (uint32_t metric = 1; metric <= 50; ++metric) {
      block.add_metrics(metric);
      block.add_values(metric * 1.1);
    }
  }
  return report;
}

double MicrosPerAdd(const std::string& directory, bool with_spool) {
  constexpr int kReports = 2'000;
  const std::unique_ptr<Spool> spool = with_spool ? MakeSpool(directory, 1) : nullptr;
  Outbox outbox(OutboxLimits{.max_bytes = size_t{1} << 30});
  const wire::AgentReport report = TypicalReport();
  int64_t spent_ns = 0;
  for (int i = 0; i < kReports; ++i) {
    const int64_t begin_ns = RealClock().MonotonicNanos();
    outbox.Add(report, begin_ns);
    if (spool != nullptr) spool->Add({outbox.newest_sequence(), 0, 0, "", outbox.newest()->bytes});
    spent_ns += RealClock().MonotonicNanos() - begin_ns;
    // As in an agent, the disk has caught up by the next report.
    if (spool != nullptr) CHECK(spool->WaitWritten(outbox.newest_sequence(), kWaitNanos));
    outbox.Acknowledge(outbox.newest_sequence());
  }
  return static_cast<double>(spent_ns) / kReports / kNanosPerMicro;
}

// The child: adds, and writes to `told` how far the spool has said that reports are written.
[[noreturn]] void AddForEver(const std::string& directory, uint64_t incarnation, int told) {
  const std::unique_ptr<Spool> spool = MakeSpool(directory, incarnation);
  for (uint64_t sequence = 1;; ++sequence) {
    spool->Add({sequence, RealClock().WallNanos(), RealBootClock().BootNanos(), "", std::string(200, 'r')});
    if (sequence % 100 == 0 && spool->WaitWritten(sequence, kWaitNanos)) {
      CHECK(write(told, &sequence, sizeof(sequence)) == sizeof(sequence));
    }
  }
}

// Kills one writer once it has told `records` of its reports to be written; how many it had told by then.
uint64_t RunAndKill(const std::string& directory, uint64_t incarnation, uint64_t records) {
  int told[2];
  CHECK(pipe(told) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) AddForEver(directory, incarnation, told[1]);
  close(told[1]);
  uint64_t durable = 0;
  uint64_t sequence = 0;
  bool is_killed = false;
  while (read(told[0], &sequence, sizeof(sequence)) == sizeof(sequence)) {
    durable = sequence;
    if (durable >= records && !is_killed) is_killed = kill(child, SIGKILL) == 0;
  }
  close(told[0]);
  waitpid(child, nullptr, 0);
  return durable;
}

void MeasureKills(const std::string& directory, uint64_t records, uint64_t kills) {
  std::vector<uint64_t> durable;
  for (uint64_t life = 1; life <= kills; ++life) {
    durable.push_back(RunAndKill(directory, life, (records + kills - 1) / kills));
  }
  SegmentLog log(LogOptions(directory, kills + 1), RealClock(), RealBootClock());
  CHECK(log.Open().ok());
  uint64_t lost = 0;
  uint64_t total = 0;
  for (uint64_t life = 1; life <= kills; ++life) {
    uint64_t next = 1;
    while (true) {
      const auto reports = log.Read(life, next - 1, size_t{4} << 20);
      CHECK(reports.ok());
      if (reports->empty()) break;
      for (const AgedReport& report : *reports) {
        lost += report.sequence - next;
        next = report.sequence + 1;
      }
    }
    total += durable[life - 1];
    if (next <= durable[life - 1]) lost += durable[life - 1] + 1 - next;
  }
  PrintMeasurement("spool_records_written", static_cast<double>(total), "records");
  PrintMeasurement("spool_records_lost", static_cast<double>(lost), "records");
}

uint64_t Flag(int argc, char** argv, std::string_view name, uint64_t otherwise) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, name.size()) == name) return std::strtoull(argv[i] + name.size(), nullptr, 10);
  }
  return otherwise;
}

int Run(int argc, char** argv) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("lockstep-spool-bench-" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  // The children must not inherit threads: kills come first.
  MeasureKills((directory / "kills").string(), Flag(argc, argv, "--records=", 1'000'000),
               Flag(argc, argv, "--kills=", 50));
  PrintMeasurement("spool_add_off", MicrosPerAdd("", false), "us");
  PrintMeasurement("spool_add_on", MicrosPerAdd((directory / "add").string(), true), "us");
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Run(argc, argv); }
