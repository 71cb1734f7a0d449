// Writes a history whose input log is from two hours ago: `old_history DIRECTORY MEGABYTES`, in equal parts that lie
// ten minutes apart, each in tables of its own.
//
// What is so old a collector lets go when its disk is full; a test cannot wait until its own log is.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/testing/forward_clock.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_store.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

constexpr int kParts = 4;
constexpr int64_t kOldestNanos = int64_t{7'200} * kNanosPerSecond;
constexpr int64_t kBetweenNanos = int64_t{600} * kNanosPerSecond;
constexpr size_t kEntryBytes = 4'000;
constexpr int kEntriesPerWrite = 100;

// Half of what it says is left of it on the disk.
std::string Noise(Random& random) {
  std::string text;
  while (text.size() < 2 * kEntryBytes) absl::StrAppend(&text, absl::Hex(random.Next(), absl::kZeroPad16));
  return text;
}

absl::Status WritePart(const std::string& directory, int64_t ago_ns, size_t bytes, Random& random) {
  ForwardClock clock;
  clock.SetWall(-ago_ns);
  RocksStoreOptions options;
  options.directory = directory;
  ASSIGN_OR_RETURN(const std::unique_ptr<RocksStore> store, OpenRocksStore(options, clock));
  for (size_t have = 0; have < bytes;) {
    StoreBatch batch;
    for (int entry = 0; entry < kEntriesPerWrite; ++entry, have += kEntryBytes) {
      wire::CaptureInput& input = *batch.log.emplace_back().mutable_input();
      input.set_job("old");
      input.set_host("gone");
      input.set_incarnation(1);
      input.set_received_wall_ns(clock.WallNanos());
      input.mutable_report()->add_kernel_events()->set_text(Noise(random));
    }
    RETURN_IF_ERROR(store->Write(batch));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  int megabytes = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &megabytes) || megabytes < 1) {
    fputs("usage: old_history DIRECTORY MEGABYTES\n", stderr);
    return 2;
  }
  lockstep::Random random(1);
  for (int part = 0; part < lockstep::kParts; ++part) {
    const size_t bytes = (static_cast<size_t>(megabytes) << 20) / lockstep::kParts;
    // What an earlier part left in the write-ahead log is a table from here on.
    const int64_t ago_ns = lockstep::kOldestNanos - part * lockstep::kBetweenNanos;
    const absl::Status status = lockstep::WritePart(argv[1], ago_ns, bytes, random);
    if (status.ok()) continue;
    fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
