#include "detector/engine/remedies.h"

#include <algorithm>
#include <utility>

#include "detector/engine/time_ledger.h"
#include "detector/slow/ailments.h"
#include "detector/slow/joint_gain.h"

namespace lockstep {
namespace {

// Preparing a step, as recorded, and two removals, each alone and with the one before it.
constexpr size_t kLastRuns = 6;

struct Candidate {
  Remedy remedy;
  double line_seconds = 0;
  std::vector<size_t> ailments;  // rising; empty = no replay can remove it
};

std::vector<size_t> AilmentsOfVerdict(const Verdict& verdict, const FoundSlowness& found, const Ailments& ailments) {
  std::vector<size_t> numbers;
  for (const FoundSlowness::Told& told : found.told) {
    if (!told.IsAbout(verdict)) continue;
    numbers.insert(numbers.end(), told.causes.begin(), told.causes.end());
    for (const size_t transfers : told.transfers) numbers.push_back(ailments.of_transfers[transfers]);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// The dearest first.
std::vector<Candidate> Candidates(const FoundSlowness& found, const Ailments& ailments,
                                  const std::vector<Verdict>& verdicts, const TimeLedger& ledger) {
  std::vector<Candidate> candidates;
  for (const Verdict& verdict : verdicts) {
    if (!CostsSteps(verdict)) continue;
    const LedgerLine& line = ledger.lines[candidates.size()];
    candidates.push_back({.remedy = {.finding = line.finding, .advice = verdict.advice, .culprits = verdict.culprits},
                          .line_seconds = line.seconds,
                          .ailments = AilmentsOfVerdict(verdict, found, ailments)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.line_seconds > b.line_seconds; });
  if (candidates.size() > kMostRemedies) candidates.resize(kMostRemedies);
  return candidates;
}

}  // namespace

double GivenBackTogether(const TraceAnalysis& analysis, const FoundSlowness& found,
                         const std::vector<Verdict>& verdicts, const std::vector<LedgerLine>& lines) {
  const Ailments ailments = AilmentsOf(analysis, found.causes, found.transfers);
  std::vector<size_t> removed;
  double replayed_lines = 0, other_lines = 0;
  size_t next = 0;
  for (const Verdict& verdict : verdicts) {
    if (!CostsSteps(verdict)) continue;
    const std::vector<size_t> numbers = AilmentsOfVerdict(verdict, found, ailments);
    (numbers.empty() ? other_lines : replayed_lines) += lines[next++].seconds;
    removed.insert(removed.end(), numbers.begin(), numbers.end());
  }
  if (removed.empty()) return other_lines;
  const std::vector<JointGain> gains = GainsTogether(analysis, ailments.all, {removed});
  return other_lines + (gains.empty() ? replayed_lines : gains.front().together_seconds);
}

std::vector<double> GivenBackLast(const TraceAnalysis& analysis, const FoundSlowness& found,
                                  const std::vector<Verdict>& verdicts) {
  const Ailments ailments = AilmentsOf(analysis, found.causes, found.transfers);
  std::vector<std::vector<size_t>> numbers;
  for (const Verdict& verdict : verdicts) numbers.push_back(AilmentsOfVerdict(verdict, found, ailments));
  std::vector<double> last(verdicts.size(), -1);
  const auto replayed = std::count_if(numbers.begin(), numbers.end(), [](const auto& some) { return !some.empty(); });
  const size_t of_step = analysis.trace->operations.size() / std::max<size_t>(1, analysis.profile.steps);
  const size_t operations = kLastRuns * static_cast<size_t>(replayed) * std::max<size_t>(1, of_step);
  if (operations == 0 || operations > kMaxLastOperations) return last;
  const size_t steps = std::min(kMostJointSteps, kMaxLastOperations / operations);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (numbers[i].empty() || !CostsSteps(verdicts[i])) continue;
    std::vector<size_t> others;
    for (size_t other = 0; other < numbers.size(); ++other) {
      if (other != i) others.insert(others.end(), numbers[other].begin(), numbers[other].end());
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    const std::vector<JointGain> gains = GainsTogether(analysis, ailments.all, {others, numbers[i]}, steps);
    if (gains.empty() || gains[1].steps == 0) continue;
    last[i] = gains[1].together_seconds - gains[0].together_seconds;
  }
  return last;
}

std::vector<Remedy> RankRemedies(const TraceAnalysis& analysis, const FoundSlowness& found,
                                 const std::vector<Verdict>& verdicts, const TimeLedger& ledger) {
  if (ledger.lines.empty()) return {};
  const Ailments ailments = AilmentsOf(analysis, found.causes, found.transfers);
  std::vector<Candidate> candidates = Candidates(found, ailments, verdicts, ledger);
  std::vector<std::vector<size_t>> removals;
  for (const Candidate& candidate : candidates) {
    if (!candidate.ailments.empty()) removals.push_back(candidate.ailments);
  }
  const std::vector<JointGain> gains =
      removals.empty() ? std::vector<JointGain>() : GainsTogether(analysis, ailments.all, removals);
  const double lost = std::max(0.0, ledger.measured_seconds - ledger.reference_seconds);
  double replayed = 0, not_replayed = 0;  // of all so far
  size_t next = 0;                        // of the gains
  std::vector<Remedy> remedies;
  for (Candidate& candidate : candidates) {
    Remedy& remedy = candidate.remedy;
    remedy.replayed = !candidate.ailments.empty() && !gains.empty();
    if (remedy.replayed) {
      replayed = gains[next].together_seconds;
      remedy.alone_seconds = std::min(lost, gains[next++].alone_seconds);
    } else {
      not_replayed += candidate.line_seconds;
      remedy.alone_seconds = candidate.line_seconds;
    }
    remedy.together_seconds = std::min(lost, replayed + not_replayed);
    remedies.push_back(std::move(remedy));
  }
  return remedies;
}

}  // namespace lockstep
