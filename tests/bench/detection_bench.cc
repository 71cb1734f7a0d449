// How well slow ranks are told from reports as they come: simulated jobs of few ranks under noise, each run of a
// scenario with a seed of its own. Figures of rates, not of time: deterministic, the same on every machine.
//
//   detection_bench [--json] [--runs N] [--only PART_OF_A_NAME]
//
// Per scenario: runs in which the slow rank was named within the limit, runs in which anybody else was accused, and the
// median and the largest time from onset to the verdict, of those found.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/testing/job_generator.h"
#include "detector/testing/job_player.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr double kOnsetSeconds = 15;
constexpr int kSlowRank = 2;

struct Scenario {
  const char* name;
  int ranks;
  Noise noise;
  double factor;  // 1 = nobody is slow
  double seconds;
  int weight;  // of the runs
};

const std::vector<Scenario>& Scenarios() {
  static const auto* const kScenarios = new std::vector<Scenario>{
      {"healthy_ugly_4_ranks", 4, UglyNoise(), 1, 600, 1},
      {"healthy_cv25_4_ranks", 4, {.own_cv = 0.25}, 1, 600, 1},
      {"healthy_ugly_8_ranks", 8, UglyNoise(), 1, 600, 1},
      {"healthy_ugly_64_ranks", 64, UglyNoise(), 1, 150, 1},
      {"slow_1.5_cv25_4_ranks", 4, {.own_cv = 0.25}, 1.5, 35, 4},
      {"slow_1.5_ugly_4_ranks", 4, UglyNoise(), 1.5, 35, 4},
      {"slow_1.25_cv10_4_ranks", 4, {.own_cv = 0.1}, 1.25, 35, 4},
      {"slow_1.25_cv25_4_ranks", 4, {.own_cv = 0.25}, 1.25, 35, 4},
      {"slow_1.25_ugly_4_ranks", 4, UglyNoise(), 1.25, 35, 4},
      {"slow_1.25_ugly_64_ranks", 64, UglyNoise(), 1.25, 35, 1},
  };
  return *kScenarios;
}

void RunScenario(const Scenario& scenario, int runs) {
  std::vector<double> seconds_to_verdict;
  int accused_others = 0;
  const std::string culprit =
      absl::StrCat("slow:node-", kSlowRank / JobGeneratorOptions().ranks_per_host, "/rank", kSlowRank);
  for (int seed = 1; seed <= runs; ++seed) {
    JobPlay play{.job = {.ranks = scenario.ranks, .noise = scenario.noise, .seed = static_cast<uint64_t>(seed)},
                 .seconds = scenario.seconds};
    if (scenario.factor > 1) play.job.slow = {{kSlowRank, kOnsetSeconds, kForever, scenario.factor}};
    const PlayedJob played = Play(play);
    bool other = false;
    for (const auto& [cause, seen] : played.causes) {
      if (scenario.factor > 1 && cause == culprit && seen.first >= kOnsetSeconds) {
        seconds_to_verdict.push_back(seen.first - kOnsetSeconds);
      } else {
        other = true;
      }
    }
    accused_others += other ? 1 : 0;
  }
  PrintMeasurement(absl::StrCat(scenario.name, "_accused_others"), accused_others, absl::StrCat("of ", runs, " runs"));
  if (scenario.factor <= 1) return;
  std::sort(seconds_to_verdict.begin(), seconds_to_verdict.end());
  const size_t found = seconds_to_verdict.size();
  PrintMeasurement(absl::StrCat(scenario.name, "_found"), static_cast<double>(found),
                   absl::StrCat("of ", runs, " runs"));
  if (found == 0) return;
  PrintMeasurement(absl::StrCat(scenario.name, "_to_verdict_median"), seconds_to_verdict[found / 2], "s");
  PrintMeasurement(absl::StrCat(scenario.name, "_to_verdict_most"), seconds_to_verdict.back(), "s");
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  int runs = 20;
  const char* only = "";
  bool usable = true;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--json") == 0) continue;  // nothing else is printed anyway
    if (has_value && strcmp(argv[i], "--runs") == 0) {
      runs = atoi(argv[++i]);
    } else if (has_value && strcmp(argv[i], "--only") == 0) {
      only = argv[++i];
    } else {
      usable = false;
    }
  }
  bool any = false;
  for (const lockstep::Scenario& scenario : lockstep::Scenarios()) {
    if (!usable || runs < 1 || strstr(scenario.name, only) == nullptr) continue;
    any = true;
    lockstep::RunScenario(scenario, runs * scenario.weight);
  }
  if (!any) fprintf(stderr, "detection_bench: expected [--json] [--runs N] [--only PART_OF_A_NAME], N at least 1\n");
  return any ? 0 : 2;
}
