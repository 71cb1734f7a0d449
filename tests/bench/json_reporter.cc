#include "tests/bench/json_reporter.h"

#include <benchmark/benchmark.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace lockstep {
namespace {

// Collects the repetitions of each benchmark, and shows them as a table unless told to be quiet.
class MedianReporter : public benchmark::ConsoleReporter {
 public:
  explicit MedianReporter(bool is_quiet) : ConsoleReporter(OO_Defaults), is_quiet_(is_quiet) {}

  bool ReportContext(const Context& context) override { return is_quiet_ || ConsoleReporter::ReportContext(context); }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred || TakeCounters(run)) continue;
      Series& series = series_[run.run_name.function_name + run.run_name.args];
      series.unit = benchmark::GetTimeUnitString(run.time_unit);
      const bool is_wall_time = run.run_name.time_type.find("real_time") != std::string::npos;
      series.values.push_back(is_wall_time ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime());
    }
    if (!is_quiet_) ConsoleReporter::ReportRuns(runs);
  }

  void PrintMedians() {
    for (auto& [name, series] : series_) {
      std::sort(series.values.begin(), series.values.end());
      PrintMeasurement(name, series.values[series.values.size() / 2], series.unit);
    }
  }

 private:
  struct Series {
    std::string unit;
    std::vector<double> values;
  };

  // True if the benchmark measures something else than its time.
  bool TakeCounters(const Run& run) {
    bool is_any = false;
    for (const auto& [name, counter] : run.counters) {
      if (name == "items_per_second" || name == "bytes_per_second") continue;
      series_[name].unit = run.report_label;
      series_[name].values.push_back(counter.value);
      is_any = true;
    }
    return is_any;
  }

  const bool is_quiet_;
  std::map<std::string, Series> series_;
};

}  // namespace

void PrintMeasurement(const std::string& name, double value, const std::string& unit) {
  printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), value, unit.c_str());
  fflush(stdout);
}

int RunBenchmarks(int argc, char** argv) {
  char** end = std::remove_if(argv, argv + argc, [](const char* argument) { return strcmp(argument, "--json") == 0; });
  const bool is_quiet = end != argv + argc;
  argc = static_cast<int>(end - argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  MedianReporter reporter(is_quiet);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.PrintMedians();
  benchmark::Shutdown();
  return 0;
}

}  // namespace lockstep
