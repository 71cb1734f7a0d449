// Bytes pulled per localization, and how often it succeeds with them:
//
//   measure SUITE FIRST_NUMBER EPISODES [MAX_BYTES_PER_ROUND]
//
// One line per episode, then one for all. Single-threaded.

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "detector/verdict.h"
#include "eval/pulls/pulling_engine.h"
#include "eval/scoring/confidence_interval.h"
#include "eval/scoring/episode_score.h"
#include "eval/suites/episode_run.h"
#include "eval/suites/suite.h"

namespace lockstep {
namespace {

double MedianSeconds(std::vector<int64_t> lengths_ns) {
  if (lengths_ns.empty()) return 0;
  const auto middle = lengths_ns.begin() + static_cast<std::ptrdiff_t>(lengths_ns.size() / 2);
  std::nth_element(lengths_ns.begin(), middle, lengths_ns.end());
  return static_cast<double>(*middle) / kNanosPerSecond;
}

// Whether all culprits' hosts were asked for everything.
bool Reached(const PullCounts& counts, const Truth& truth) {
  for (const TrueCause& cause : truth.causes) {
    for (const Culprit& culprit : cause.culprits) {
      if (std::find(counts.reached.begin(), counts.reached.end(), culprit.host) == counts.reached.end()) return false;
    }
  }
  return true;
}

int Main(int argc, char** argv) {
  const Suite* const suite = argc < 4 ? nullptr : FindSuite(argv[1]);
  if (suite == nullptr) {
    fprintf(stderr, "usage: measure SUITE FIRST_NUMBER EPISODES [MAX_BYTES_PER_ROUND]\n");
    return 2;
  }
  const auto first = static_cast<uint64_t>(atoll(argv[2]));
  const auto episodes = static_cast<uint64_t>(atoll(argv[3]));
  const RunOptions options;
  InvestigationOptions look;
  if (argc > 4) look.max_bytes = static_cast<uint64_t>(atoll(argv[4]));
  int64_t accusable = 0;
  int64_t right = 0;
  int64_t wrong_episodes = 0;
  uint64_t most_bytes = 0;
  double all_bytes = 0;
  for (uint64_t number = first; number < first + episodes; ++number) {
    const EpisodePlan plan = PlanOf(*suite, number);
    const Episode episode = SimulatePlan(plan);
    PullingEngine engine(look);
    const JobReport report = engine.Diagnose(episode.evidence, MedianSeconds(episode.truth.step_ns));
    const EpisodeScore score = ScoreReport(report, episode.truth, options.min_cost);
    const bool counts = !score.causes.empty() && score.causes.front().accusable;
    const bool found = counts && score.causes.front().top1;
    accusable += counts ? 1 : 0;
    right += found ? 1 : 0;
    wrong_episodes += score.accused_wrongly.empty() ? 0 : 1;
    most_bytes = std::max(most_bytes, engine.counts().bytes);
    all_bytes += static_cast<double>(engine.counts().bytes);
    printf("%llu %s: %s, culprit %s, %.1f MB in %llu answers, %llu operations left out, %zu wrongly accused\n",
           static_cast<unsigned long long>(number), Describe(plan).c_str(),
           found    ? "found"
           : counts ? "missed"
                    : "too cheap",
           Reached(engine.counts(), episode.truth) ? "reached" : "not reached",
           static_cast<double>(engine.counts().bytes) / 1e6, static_cast<unsigned long long>(engine.counts().requests),
           static_cast<unsigned long long>(engine.counts().left_out), score.accused_wrongly.size());
    for (const Verdict& verdict : report.verdicts) printf("    %s\n", ToJsonLine(verdict).substr(0, 400).c_str());
    fflush(stdout);
  }
  const Interval interval = WilsonInterval(right, accusable);
  printf("%s: %lld of %lld found (%.1f-%.1f %%), innocents accused in %lld of %llu, bytes mean %.1f MB, most %.1f MB\n",
         argv[1], static_cast<long long>(right), static_cast<long long>(accusable), 100 * interval.low,
         100 * interval.high, static_cast<long long>(wrong_episodes), static_cast<unsigned long long>(episodes),
         all_bytes / static_cast<double>(episodes) / 1e6, static_cast<double>(most_bytes) / 1e6);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Main(argc, argv); }
