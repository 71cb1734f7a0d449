#include "eval/metamorphic/report_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "detector/verdict/verdict_merge.h"

namespace lockstep {
namespace {

constexpr size_t kShown = 160;         // characters of a line, from a little before the difference on
constexpr size_t kShownBefore = 60;    //
constexpr double kSameNumber = 0.005;  // relative, where order may play a part
constexpr double kSameShare = 0.002;   // of the step time
constexpr double kSameConfidence = 0.02;
constexpr double kSameSeconds = 0.002;  // relative

std::string JobLine(const JobReport& report) {
  return absl::StrFormat("%s, %s: %d ranks, %d hosts, %d steps of %.9g s, %d records, %d lost, missing ranks %s",
                         report.job, Name(report.state), report.ranks, report.hosts, report.steps,
                         report.step_seconds_median, report.completeness.records, report.completeness.lost_records,
                         absl::StrJoin(report.completeness.missing_ranks, " "));
}

std::vector<std::string> LedgerLines(const TimeLedger& ledger) {
  std::vector<std::string> lines;
  lines.push_back(absl::StrFormat("ledger: %.9g = %.9g + %.9g within %.9g", ledger.measured_seconds,
                                  ledger.reference_seconds, ledger.unexplained_seconds, ledger.error_seconds));
  for (const LedgerLine& line : ledger.lines) {
    lines.push_back(absl::StrFormat("ledger: %s %.9g", line.finding, line.seconds));
  }
  return lines;
}

Verdict WithoutTimes(Verdict verdict) {
  verdict.first_seen_ns = verdict.last_seen_ns = 0;
  return verdict;
}

std::vector<std::string> LinesOf(const JobReport& report) {
  std::vector<std::string> lines = {JobLine(report)};
  for (const Verdict& verdict : report.verdicts) lines.push_back(ToJsonLine(WithoutTimes(verdict)));
  for (std::string& line : LedgerLines(report.ledger)) lines.push_back(std::move(line));
  return lines;
}

std::string WordsInOrder(const std::string& text) {
  std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" ,"), absl::SkipEmpty());
  std::sort(words.begin(), words.end());
  return absl::StrJoin(words, " ");
}

auto Likeliest(const Culprit& culprit) {
  return std::make_tuple(-culprit.confidence, culprit.host, culprit.rank, culprit.device, culprit.peer_host);
}

std::vector<std::string> LinesInOrder(const JobReport& report) {
  JobReport ordered = report;
  for (Verdict& verdict : ordered.verdicts) {
    for (Culprit& culprit : verdict.culprits) {
      // Which end of a link comes first says nothing.
      if (!culprit.peer_host.empty() && culprit.peer_host < culprit.host) std::swap(culprit.host, culprit.peer_host);
    }
    std::sort(verdict.culprits.begin(), verdict.culprits.end(),
              [](const Culprit& a, const Culprit& b) { return Likeliest(a) < Likeliest(b); });
    for (Evidence& evidence : verdict.evidence) evidence.reason = InputNote{WordsInOrder(evidence.text())};
  }
  for (LedgerLine& line : ordered.ledger.lines) line.finding = WordsInOrder(line.finding);
  std::vector<std::string> lines = LinesOf(ordered);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string Shown(const std::string& line, size_t at) {
  const size_t from = at > kShownBefore ? at - kShownBefore : 0;
  const std::string part = line.substr(std::min(from, line.size()), kShown);
  return absl::StrCat(from > 0 ? "..." : "", part, from + kShown < line.size() ? "..." : "");
}

// Equal, or numbers that the order of a sum or the choice among middle values may have moved.
bool AreAlike(absl::string_view a, absl::string_view b) {
  if (a == b) return true;
  double x = 0, y = 0;
  return absl::SimpleAtod(a, &x) && absl::SimpleAtod(b, &y) &&
         std::abs(x - y) <= kSameNumber * std::max(std::abs(x), std::abs(y));
}

// Where two lines begin to differ; npos = nowhere.
size_t DifferAt(const std::string& a, const std::string& b) {
  if (a == b) return std::string::npos;
  const auto [first, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(first - a.begin());
}

// The same, by the words of them.
size_t WordsDifferAt(const std::string& a, const std::string& b) {
  const auto separators = absl::ByAnyChar(" ,:{}[]()\"");
  const std::vector<absl::string_view> words = absl::StrSplit(a, separators), others = absl::StrSplit(b, separators);
  const auto [first, unused] = std::mismatch(words.begin(), words.end(), others.begin(), others.end(), AreAlike);
  if (first == words.end()) return words.size() == others.size() ? std::string::npos : a.size();
  return static_cast<size_t>(first->data() - a.data());
}

template <typename FindDifference>
std::string FirstDifference(const std::vector<std::string>& expected, const std::vector<std::string>& found,
                            FindDifference differ_at) {
  for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    if (i >= expected.size()) return absl::StrCat("one more: ", Shown(found[i], 0));
    if (i >= found.size()) return absl::StrCat("one less: ", Shown(expected[i], 0));
    const size_t at = differ_at(expected[i], found[i]);
    if (at == std::string::npos) continue;
    return absl::StrCat("expected ", Shown(expected[i], at), " found ", Shown(found[i], at));
  }
  return "";
}

// Who, and what; without any number.
std::string Gist(const Verdict& verdict) {
  std::vector<std::string> culprits;
  for (const Culprit& culprit : verdict.culprits) {
    culprits.push_back(
        absl::StrCat(culprit.host, "/", culprit.rank, "/", culprit.gpu, "/", culprit.device, ">", culprit.peer_host));
  }
  std::sort(culprits.begin(), culprits.end());
  return absl::StrCat(Name(verdict.scope), " ", Name(verdict.verdict_class), " ", absl::StrJoin(culprits, " "));
}

std::vector<const Verdict*> ByGist(const JobReport& report) {
  std::vector<const Verdict*> verdicts;
  for (const Verdict& verdict : report.verdicts) verdicts.push_back(&verdict);
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const Verdict* a, const Verdict* b) { return Gist(*a) < Gist(*b); });
  return verdicts;
}

bool SameNumbers(const Verdict& expected, const Verdict& found, double factor) {
  const double seconds = factor * expected.cost.seconds_per_step;
  double apart = 0;
  for (size_t i = 0; i < expected.culprits.size(); ++i) {
    apart = std::max(apart, std::abs(expected.culprits[i].confidence - found.culprits[i].confidence));
  }
  return expected.first_step == found.first_step && expected.last_step == found.last_step &&
         std::abs(expected.cost.slowdown_fraction - found.cost.slowdown_fraction) <= kSameShare &&
         std::abs(seconds - found.cost.seconds_per_step) <= kSameSeconds * std::max(seconds, factor) &&
         apart <= kSameConfidence;
}

std::string NumbersOf(const Verdict& verdict) {
  return absl::StrFormat("%s, steps %d to %d, %.4f, %.6g s", Gist(verdict), verdict.first_step, verdict.last_step,
                         verdict.cost.slowdown_fraction, verdict.cost.seconds_per_step);
}

size_t Accusations(const JobReport& report) {
  return static_cast<size_t>(std::count_if(report.verdicts.begin(), report.verdicts.end(), BlamesSomebody));
}

void AddHosts(const Verdict& verdict, std::set<std::string>* hosts) {
  for (const Culprit& culprit : verdict.culprits) {
    if (!culprit.host.empty()) hosts->insert(culprit.host);
    if (!culprit.peer_host.empty()) hosts->insert(culprit.peer_host);
  }
}

}  // namespace

bool BlamesSomebody(const Verdict& verdict) {
  return verdict.type() == FindingType::kAccusation && !verdict.culprits.empty() && Blames(verdict);
}

std::set<std::string> AccusedHosts(const JobReport& report) {
  std::set<std::string> hosts;
  for (const Verdict& verdict : report.verdicts) {
    if (BlamesSomebody(verdict)) AddHosts(verdict, &hosts);
  }
  return hosts;
}

std::set<std::string> NamedHosts(const JobReport& report) {
  std::set<std::string> hosts;
  for (const Verdict& verdict : report.verdicts) AddHosts(verdict, &hosts);
  return hosts;
}

std::string Difference(const JobReport& expected, const JobReport& found) {
  return FirstDifference(LinesOf(expected), LinesOf(found), DifferAt);
}

std::string DifferenceInAnyOrder(const JobReport& expected, const JobReport& found) {
  return FirstDifference(LinesInOrder(expected), LinesInOrder(found), WordsDifferAt);
}

std::string DifferenceInUnits(const JobReport& expected, const JobReport& found, double factor) {
  if (expected.state != found.state || expected.steps != found.steps ||
      expected.verdicts.size() != found.verdicts.size()) {
    return absl::StrFormat("expected %s, %d steps, %d findings, found %s, %d steps, %d findings", Name(expected.state),
                           expected.steps, expected.verdicts.size(), Name(found.state), found.steps,
                           found.verdicts.size());
  }
  const std::vector<const Verdict*> before = ByGist(expected), after = ByGist(found);
  for (size_t i = 0; i < before.size(); ++i) {
    if (Gist(*before[i]) == Gist(*after[i]) && SameNumbers(*before[i], *after[i], factor)) continue;
    return absl::StrCat("expected ", NumbersOf(*before[i]), " found ", NumbersOf(*after[i]));
  }
  return "";
}

std::string Strengthened(const std::set<std::string>& allowed, size_t findings, const JobReport& found) {
  for (const Verdict& verdict : found.verdicts) {
    if (!BlamesSomebody(verdict)) continue;
    std::set<std::string> hosts;
    AddHosts(verdict, &hosts);
    for (const std::string& host : hosts) {
      if (!allowed.contains(host)) return absl::StrCat("another culprit, ", host, ": ", NumbersOf(verdict));
    }
  }
  if (Accusations(found) > std::max(findings, allowed.size())) {
    return absl::StrFormat("%d findings accuse, of %d before", Accusations(found), findings);
  }
  return "";
}

}  // namespace lockstep
