// Counts what captures have of each life of each agent, as JSON lines:
//
//   capture_tally CAPTURE...
//   {"host":"node-1","incarnation":"17","reports":40,"first":1,"last":40,"doubled":0,"missing":0,"dropped":0}
//
// `missing` are numbers between the first and the last that are not there; `dropped` is what the agent said it lost.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/capture_file.h"
#include "nlohmann/json.hpp"
#include "proto/capture.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

struct Life {
  std::map<uint64_t, int> reports;  // times that a number is there
  uint64_t dropped = 0;
};

using Lives = std::map<std::pair<std::string, uint64_t>, Life>;

absl::Status Note(const wire::CaptureEntry& entry, Lives& lives) {
  if (!entry.has_input()) return absl::OkStatus();
  Life& life = lives[{entry.input().host(), entry.input().incarnation()}];
  ++life.reports[entry.input().report().sequence()];
  for (const wire::Dropped& dropped : entry.input().report().dropped()) life.dropped += dropped.count();
  return absl::OkStatus();
}

void Print(const Lives& lives) {
  for (const auto& [name, life] : lives) {
    uint64_t doubled = 0;
    for (const auto& [number, times] : life.reports) doubled += static_cast<uint64_t>(times - 1);
    const uint64_t first = life.reports.begin()->first;
    const uint64_t last = life.reports.rbegin()->first;
    const nlohmann::ordered_json line = {{"host", name.first},
                                         {"incarnation", absl::StrCat(name.second)},
                                         {"reports", life.reports.size()},
                                         {"first", first},
                                         {"last", last},
                                         {"doubled", doubled},
                                         {"missing", last - first + 1 - life.reports.size()},
                                         {"dropped", life.dropped}};
    puts(line.dump().c_str());
  }
}

int Run(const std::vector<std::string>& paths) {
  Lives lives;
  for (const std::string& path : paths) {
    const absl::Status status =
        ReadCaptureFile(path, [&](const wire::CaptureEntry& entry) { return Note(entry, lives); });
    if (!status.ok()) {
      fprintf(stderr, "capture_tally: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  Print(lives);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs("usage: capture_tally CAPTURE...\n", stderr);
    return 2;
  }
  return lockstep::Run(std::vector<std::string>(argv + 1, argv + argc));
}
