#include "detector/testing/job_player.h"

#include <algorithm>
#include <utility>

#include "detector/testing/engine_driver.h"

namespace lockstep {

PlayedJob Play(const JobPlay& play) {
  JobGenerator generator(play.job);
  EngineDriver driver(play.engine);
  PlayedJob run;
  while (generator.NowSeconds() < play.seconds) {
    std::vector<HostReport> reports = generator.NextReports();
    const double now = generator.NowSeconds();
    if (play.reversed) std::reverse(reports.begin(), reports.end());
    for (HostReport& report : reports) {
      const HostReport unaltered = report;
      if (play.alter) play.alter(now, &report);
      // What is wrong in a report is wrong in the agent's memory as well; a report that is lost on the way is not.
      driver.Record(report.host.empty() ? unaltered : report);
      if (!report.host.empty() && now >= play.engine_begins) driver.Deliver(std::move(report));
    }
    if (now < play.engine_begins) continue;
    const JobEngine::Conclusion conclusion = driver.Evaluate(generator.NowNanos());
    run.always_conclusive = run.always_conclusive && conclusion.can_conclude;
    for (const Verdict& verdict : conclusion.verdicts) {
      SeenCause& seen =
          run.causes.try_emplace(CauseKey(verdict), SeenCause{.first = now, .oldest = verdict, .newest = verdict})
              .first->second;
      seen.last = now;
      ++seen.told;
      seen.newest = verdict;
      run.log += ToJsonLine(verdict) + "\n";
    }
    run.states.push_back(driver.engine().summary().state);
  }
  run.summary = driver.engine().summary();
  run.ranks = driver.engine().ranks();
  run.ledger = driver.engine().ledger();
  return run;
}

std::string EvidenceText(const Verdict& verdict) {
  std::string text;
  for (const Evidence& evidence : verdict.evidence) text += evidence.text() + "\n";
  return text;
}

}  // namespace lockstep
