#include "eval/patterns/pattern_method.h"

#include "eval/patterns/pattern_baselines.h"

namespace lockstep {

std::vector<PatternAnswer> AnswersOf(const PatternFleet& fleet, const PatternReport& report) {
  std::vector<PatternAnswer> answers;
  for (const PatternFinding& finding : report.findings) {
    PatternAnswer& answer = answers.emplace_back();
    answer.pattern_class = finding.pattern_class;
    answer.of_all = finding.of_all;
    if (!finding.functions.empty()) answer.function = finding.functions.front().function;
    for (const uint32_t worker : finding.workers) {
      if (!finding.of_all) answer.ranks.push_back(fleet.workers()[worker].rank);
    }
  }
  return answers;
}

std::vector<PatternMethod> AllPatternMethods() {
  return {
      {"lockstep", "the comparison of this project",
       [](const PatternFleet& fleet) { return AnswersOf(fleet, ComparePatterns(fleet)); }},
      {"3-sigma", "textbook, on the mean duration of each function; beta > 1 % as in EROICA", JudgeByThreeSigma},
      {"dbscan",
       "Ester et al. 1996 on (beta, mu, sigma) of each function; radius 0.4 from EROICA, a core of half of "
       "the workers is ours",
       JudgeByDbscan},
      {"eroica-delta",
       "EROICA's Delta: share of the others that differ by 0.4 or more, above median + 5 MAD; how mu is "
       "scaled without counters is ours; no D",
       JudgeByShareThatDiffers},
  };
}

}  // namespace lockstep
