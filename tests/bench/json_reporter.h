// Runs the Google Benchmarks of a binary and prints each as one JSON object per line:
//   {"name": "recorder_operation_median", "value": 61.2, "unit": "ns"}
//
// Benchmarks are repeated; what is printed is the median of the repetitions: of CPU time, which other load on the
// machine disturbs least, or of wall time for benchmarks with UseRealTime(). A benchmark that sets state.counters is
// printed by those instead of its time; their unit is its label. Not thread-safe.

#ifndef LOCKSTEP_TESTS_BENCH_JSON_REPORTER_H_
#define LOCKSTEP_TESTS_BENCH_JSON_REPORTER_H_

#include <string>

namespace lockstep {

// One line in the convention of all benchmarks of this project, on stdout.
void PrintMeasurement(const std::string& name, double value, const std::string& unit);

// The main() of a benchmark binary. `--json` prints only the lines above; without it Google Benchmark's own table comes
// first. All other flags are Google Benchmark's. Returns the exit code.
int RunBenchmarks(int argc, char** argv);

}  // namespace lockstep

#endif  // LOCKSTEP_TESTS_BENCH_JSON_REPORTER_H_
