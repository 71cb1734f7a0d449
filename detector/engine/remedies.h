// The advice of a diagnosis, ranked by what following it gives back.
//
// The order is the ledger's: the finding that costs most comes first. What a remedy gives back is replayed, by itself
// and with all before it, since gains do not add up (joint_gain.h). Findings that no replay knows how to remove, such
// as uneven work, and those whose cost is known from the job's past alone, count with their ledger line. Nothing gives
// back more than the job lost. Pure.

#ifndef LOCKSTEP_DETECTOR_ENGINE_REMEDIES_H_
#define LOCKSTEP_DETECTOR_ENGINE_REMEDIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/slow/slow_cause.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/remedy.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

inline constexpr size_t kMostRemedies = 8;  // the dearest ones

// What was found slow, and which of it verdicts are about.
struct FoundSlowness {
  // Verdicts may change their class later, but not whom they name since when.
  struct Told {
    VerdictClass verdict_class;
    std::vector<Culprit> culprits;
    int64_t first_step = -1;
    std::vector<size_t> causes;     // numbers in `causes`
    std::vector<size_t> transfers;  // numbers in `transfers`

    bool IsAbout(const Verdict& verdict) const {
      return first_step == verdict.first_step && culprits == verdict.culprits &&
             (!culprits.empty() || verdict_class == verdict.verdict_class);
    }
  };

  std::vector<SlowCause> causes;
  std::vector<SlowTransfers> transfers;
  std::vector<Told> told;  // of those whose cost was replayed

  // What was told as `before` has become a part of `now`.
  void Retell(const Verdict& before, const Verdict& now) {
    for (Told& one : told) {
      if (!one.IsAbout(before)) continue;
      one.verdict_class = now.verdict_class;
      one.culprits = now.culprits;
      one.first_step = now.first_step;
    }
  }
};

// Seconds per step that removing all that `verdicts` name gives back, what no replay can remove counted as its line.
double GivenBackTogether(const TraceAnalysis& analysis, const FoundSlowness& found,
                         const std::vector<Verdict>& verdicts, const std::vector<LedgerLine>& lines);

// Bounds the replays of GivenBackLast, of all findings together: as many steps as it allows, and none where one is too
// much, as where a tenth of a large fleet is slow. A second at 40 ns.
inline constexpr size_t kMaxLastOperations = 24'000'000;

// By verdict, seconds per usual step that removing all that it names gives back when all that the others name is gone;
// negative where no replay tells, or none of a step in which it is there.
std::vector<double> GivenBackLast(const TraceAnalysis& analysis, const FoundSlowness& found,
                                  const std::vector<Verdict>& verdicts);

// `ledger` of `verdicts`.
std::vector<Remedy> RankRemedies(const TraceAnalysis& analysis, const FoundSlowness& found,
                                 const std::vector<Verdict>& verdicts, const TimeLedger& ledger);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_REMEDIES_H_
