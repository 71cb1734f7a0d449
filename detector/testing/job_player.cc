#include "detector/testing/job_player.h"

#include <algorithm>

namespace lockstep {

PlayedJob Play(const JobPlay& play) {
  JobGenerator generator(play.job);
  JobEngine engine(play.engine);
  PlayedJob run;
  while (generator.NowSeconds() < play.seconds) {
    std::vector<HostReport> reports = generator.NextReports();
    const double now = generator.NowSeconds();
    if (now < play.engine_begins) continue;
    if (play.reversed) std::reverse(reports.begin(), reports.end());
    for (HostReport& report : reports) {
      if (play.alter) play.alter(now, &report);
      if (!report.host.empty()) engine.Observe(report);
    }
    const JobEngine::Conclusion conclusion = engine.Evaluate(generator.NowNanos());
    run.always_conclusive = run.always_conclusive && conclusion.can_conclude;
    for (const Verdict& verdict : conclusion.verdicts) {
      SeenCause& seen = run.causes[CauseKey(verdict)];
      if (seen.first < 0) {
        seen.first = now;
        seen.oldest = verdict;
      }
      seen.last = now;
      seen.newest = verdict;
      run.log += ToJsonLine(verdict) + "\n";
    }
    run.states.push_back(engine.summary().state);
  }
  run.summary = engine.summary();
  run.ranks = engine.ranks();
  return run;
}

std::string EvidenceText(const Verdict& verdict) {
  std::string text;
  for (const Evidence& evidence : verdict.evidence) text += evidence.text + "\n";
  return text;
}

}  // namespace lockstep
