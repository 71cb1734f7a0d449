// A job that only its rings know of: eight ranks on two hosts, of which each step is some computing and two
// collectives, recorded as a real job's are. Costs next to no CPU, so that many run beside each other.
//
//   ring_job --directories DIR,DIR --job NAME --seed N
//
// A directory is a host's, with half of the ranks. Standard input says what happens: "stop RANK" (it does not enter its
// next collective), "go" (it does); its end is the end of the job.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_writer.h"
#include "base/clock.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr int kRanks = 8;
constexpr int kNobody = -1;
constexpr int kUsage = 2;
constexpr int64_t kComputeNanos = 100 * kNanosPerMilli;  // between two collectives
constexpr int64_t kNoiseNanos = kNanosPerMilli;
constexpr int64_t kCollectiveNanos = 4 * kNanosPerMilli;

struct Arguments {
  std::vector<std::string> directories;
  std::string job;
  uint64_t seed = 1;
};

// What standard input asked for last.
class Orders {
 public:
  // Waits until `time_ns`, or until there is news. False = the job is over.
  bool WaitUntil(int64_t time_ns) {
    while (!is_over_) {
      const int64_t left_ns = time_ns - RealClock().MonotonicNanos();
      if (left_ns <= 0) return true;
      pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      const timespec patience = {.tv_sec = left_ns / kNanosPerSecond, .tv_nsec = left_ns % kNanosPerSecond};
      if (ppoll(&input, 1, &patience, nullptr) > 0) Read();
    }
    return false;
  }

  int stopped() const { return stopped_; }

 private:
  void Read() {
    char bytes[256];
    const ssize_t size = read(STDIN_FILENO, bytes, sizeof(bytes));
    is_over_ = size <= 0;
    for (const absl::string_view line : absl::StrSplit(absl::string_view(bytes, size > 0 ? size : 0), '\n')) {
      if (line == "go") stopped_ = kNobody;
      if (absl::StartsWith(line, "stop ") && !absl::SimpleAtoi(line.substr(5), &stopped_)) stopped_ = kNobody;
    }
  }

  int stopped_ = kNobody;
  bool is_over_ = false;
};

class RingJob {
 public:
  explicit RingJob(const Arguments& arguments) : random_(arguments.seed), id_(random_.Next()) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const size_t host = static_cast<size_t>(rank) * arguments.directories.size() / kRanks;
      is_open_ &= writers_[rank].Open({.directory = arguments.directories[host].c_str(),
                                       .kind = ring::RecorderKind::kMpi,
                                       .rank = rank,
                                       .world_size = kRanks,
                                       .job = arguments.job.c_str()});
      worlds_[rank] = writers_[rank].FindOrAddCommunicator({.id = id_, .size = kRanks, .rank = rank, .name = "world"},
                                                           RealClock().MonotonicNanos());
    }
  }

  bool is_open() const { return is_open_; }

  void Run() {
    while (Collective(ring::OperationKind::kReduceScatter, 8 << 20) &&
           Collective(ring::OperationKind::kAllGather, 4 << 20)) {
    }
    for (ring::RingWriter& writer : writers_) writer.Finalize();
  }

 private:
  // All compute, enter, wait for the last and leave together. False = the job is over.
  bool Collective(ring::OperationKind kind, uint64_t bytes) {
    const int64_t began_ns = RealClock().MonotonicNanos();
    std::vector<std::pair<int64_t, int>> arrivals;
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto noise_ns = static_cast<int64_t>(random_.Unit() * kNoiseNanos);
      arrivals.emplace_back(began_ns + kComputeNanos + noise_ns, rank);
    }
    std::sort(arrivals.begin(), arrivals.end());
    std::array<ring::OperationHandle, kRanks> operations;
    const auto enter = [&](int rank) {
      operations[rank] = writers_[rank].Begin(
          {.kind = kind, .started = true, .communicator = worlds_[rank], .bytes = bytes}, RealClock().MonotonicNanos());
    };
    int missing = kNobody;
    for (const auto& [arrival_ns, rank] : arrivals) {
      if (!orders_.WaitUntil(arrival_ns)) return false;
      if (rank != orders_.stopped()) {
        enter(rank);
      } else {
        missing = rank;
      }
    }
    while (missing != kNobody && missing == orders_.stopped()) {
      if (!orders_.WaitUntil(RealClock().MonotonicNanos() + 5 * kNanosPerMilli)) return false;
    }
    if (missing != kNobody) enter(missing);
    if (!orders_.WaitUntil(RealClock().MonotonicNanos() + kCollectiveNanos)) return false;
    for (int rank = 0; rank < kRanks; ++rank) writers_[rank].Finish(operations[rank], {}, RealClock().MonotonicNanos());
    return true;
  }

  Random random_;
  const uint64_t id_;
  bool is_open_ = true;
  Orders orders_;
  std::array<ring::RingWriter, kRanks> writers_;
  std::array<uint32_t, kRanks> worlds_ = {};
};

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const absl::string_view flag = argv[i];
    if (flag == "--directories") {
      arguments.directories = absl::StrSplit(argv[i + 1], ',');
    } else if (flag == "--job") {
      arguments.job = argv[i + 1];
    } else if (flag != "--seed" || !absl::SimpleAtoi(argv[i + 1], &arguments.seed)) {
      return false;
    }
  }
  return argc % 2 == 1 && !arguments.directories.empty() && !arguments.job.empty();
}

int Run(const Arguments& arguments) {
  RingJob job(arguments);
  if (!job.is_open()) {
    fputs("ring_job: cannot write rings into these directories\n", stderr);
    return 1;
  }
  job.Run();
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::Arguments arguments;
  if (!lockstep::Parse(argc, argv, arguments)) {
    fputs("usage: ring_job --directories DIR[,DIR] --job NAME [--seed N]\n", stderr);
    return lockstep::kUsage;
  }
  return lockstep::Run(arguments);
}
