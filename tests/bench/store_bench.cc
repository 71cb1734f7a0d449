// How fast history goes to disk: input log (entries and bytes before compression) and points of series.
//
// Writes into a temporary directory with the options of a collector, and syncs what a collector syncs.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/rocks_store.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr int kHosts = 200;
constexpr int kBatches = 100;  // one per second of the simulated time
constexpr int kSeriesPerHost = 50;

double SecondsSince(int64_t start_ns) {
  return static_cast<double>(RealClock().MonotonicNanos() - start_ns) / kNanosPerSecond;
}

std::unique_ptr<RocksStore> OpenStore(const TemporaryDirectory& directory, const Clock& clock) {
  RocksStoreOptions options;
  options.directory = (directory.path() / "history").string();
  auto store = OpenRocksStore(options, clock);
  CHECK(store.ok());
  return *std::move(store);
}

uint64_t DiskBytes(const TemporaryDirectory& directory) {
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory.path())) {
    const bool table = file.path().extension() == ".sst" || file.path().extension() == ".log";
    if (table) bytes += file.file_size();
  }
  return bytes;
}

// A report of about 1.5 KB: eight ranks with four communicators each, with counters that move as in a real job.
wire::CaptureEntry Report(int host, int second, int64_t wall_ns, Random& random) {
  wire::CaptureEntry entry;
  wire::CaptureInput& input = *entry.mutable_input();
  input.set_job("job");
  input.set_host("node-" + std::to_string(host));
  input.set_incarnation(static_cast<uint64_t>(host) * 7919);
  input.set_received_wall_ns(wall_ns);
  for (int rank = 0; rank < 8; ++rank) {
    wire::ProcessReport& process = *input.mutable_report()->add_processes();
    process.set_job("job");
    process.set_rank(host * 8 + rank);
    process.set_pid(4'000 + rank);
    for (uint64_t id = 1; id <= 4; ++id) {
      wire::CommunicatorReport& communicator = *process.add_communicators();
      communicator.set_id(id * 0x9e3779b97f4a7c15);
      communicator.set_size(kHosts * 8);
      communicator.set_rank(host * 8 + rank);
      communicator.set_enqueued(static_cast<uint64_t>(second) * 12 + id);
      communicator.set_started(static_cast<uint64_t>(second) * 12 + id);
      communicator.set_finished(static_cast<uint64_t>(second) * 12);
      communicator.set_idle_ns(static_cast<int64_t>(random.Below(80'000'000)));
    }
  }
  return entry;
}

void MeasureLog() {
  const TemporaryDirectory directory;
  SimClock clock;
  const std::unique_ptr<RocksStore> store = OpenStore(directory, clock);
  Random random(1);
  uint64_t bytes = 0;
  double seconds = 0;
  for (int second = 0; second < kBatches; ++second) {
    StoreBatch batch;
    for (int host = 0; host < kHosts; ++host) {
      batch.log.push_back(Report(host, second, clock.WallNanos() + host, random));
      batch.marks.push_back({"node-" + std::to_string(host), 1, static_cast<uint64_t>(second) + 1});
      bytes += batch.log.back().ByteSizeLong();
    }
    const int64_t start = RealClock().MonotonicNanos();
    CHECK(store->Write(batch).ok());
    seconds += SecondsSince(start);
    clock.Advance(kNanosPerSecond);
  }
  const double entries = 1.0 * kBatches * kHosts;
  PrintMeasurement("store_log_entries", entries / seconds, "entries/s");
  PrintMeasurement("store_log_bytes", static_cast<double>(bytes) / seconds / 1e6, "MB/s");
  PrintMeasurement("store_log_entry_bytes", static_cast<double>(bytes) / entries, "B");
  PrintMeasurement("store_log_disk_bytes_per_entry", static_cast<double>(DiskBytes(directory)) / entries, "B");
}

void MeasurePoints() {
  const TemporaryDirectory directory;
  SimClock clock;
  const std::unique_ptr<RocksStore> store = OpenStore(directory, clock);
  Random random(2);
  double seconds = 0;
  const int64_t begin = clock.WallNanos();
  for (int second = 0; second < kBatches; ++second) {
    StoreBatch batch;
    for (int series = 0; series < kHosts * kSeriesPerHost; ++series) {
      batch.points.push_back({"node-" + std::to_string(series / kSeriesPerHost),
                              "gpu" + std::to_string(series % kSeriesPerHost), Metric::kGpuPowerWatts,
                              clock.WallNanos(), 500 + random.Gaussian()});
    }
    const int64_t start = RealClock().MonotonicNanos();
    CHECK(store->Write(batch).ok());
    seconds += SecondsSince(start);
    clock.Advance(kNanosPerSecond);
  }
  const int64_t start = RealClock().MonotonicNanos();
  CHECK(store->Flush().ok());
  seconds += SecondsSince(start);
  const double points = 1.0 * kBatches * kHosts * kSeriesPerHost;
  PrintMeasurement("store_points", points / seconds, "points/s");
  PrintMeasurement("store_disk_bytes_per_point", static_cast<double>(DiskBytes(directory)) / points, "B");

  constexpr int kReads = 1'000;
  const int64_t reading = RealClock().MonotonicNanos();
  for (int i = 0; i < kReads; ++i) {
    const SeriesSelector selector{
        Metric::kGpuPowerWatts, "node-" + std::to_string(i % kHosts), "gpu7", begin, clock.WallNanos(), {}};
    const auto page = store->ReadSeries(selector, {.max_series = 10, .max_points = 10 * kBatches});
    CHECK(page.ok() && page->ranges.size() == 1 && page->ranges.front().points.size() == kBatches);
  }
  PrintMeasurement("store_read_series", SecondsSince(reading) / kReads * 1e6, "us");
}

}  // namespace
}  // namespace lockstep

int main() {
  lockstep::MeasureLog();
  lockstep::MeasurePoints();
  return 0;
}
