// A recording of a small job, some ranks of which become slow in its middle, as ops-csv. Pure.

#ifndef LOCKSTEP_CLI_TESTING_SLOW_RANKS_CSV_H_
#define LOCKSTEP_CLI_TESTING_SLOW_RANKS_CSV_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep {

// Eight ranks of job-1 on the hosts h0 to h7, in step for 40 steps of 105 ms. From step 20 on those of `more_ms` need
// so many milliseconds more before each call.
inline std::string SlowRanksCsv(const std::map<int, int64_t>& more_ms) {
  constexpr int64_t kMs = 1'000'000;
  constexpr int kRanks = 8, kSteps = 40, kOnset = 20;
  std::string text = "job,host,rank,comm,comm_rank,comm_size,seq,op,enqueue_ns,start_ns,end_ns\n";
  int64_t begin_ns = 1'000 * kMs;
  for (int step = 0; step < kSteps; ++step) {
    int64_t starts_ns[kRanks];
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto more = more_ms.find(rank);
      const int64_t slow_ms = step >= kOnset && more != more_ms.end() ? more->second : 0;
      // A little unlike in each step, as everywhere.
      const int64_t own_ns = (100 + slow_ms) * kMs + (step * 7 + rank * 3) % 5 * kMs / 10;
      starts_ns[rank] = begin_ns + own_ns;
    }
    const int64_t end_ns = *std::max_element(starts_ns, starts_ns + kRanks) + 5 * kMs;
    for (int rank = 0; rank < kRanks; ++rank) {
      absl::StrAppend(&text, "job-1,h", rank, ",", rank, ",c,", rank, ",", kRanks, ",", step + 1, ",AllReduce,",
                      starts_ns[rank], ",", starts_ns[rank], ",", end_ns, "\n");
    }
    begin_ns = end_ns;
  }
  return text;
}

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_TESTING_SLOW_RANKS_CSV_H_
