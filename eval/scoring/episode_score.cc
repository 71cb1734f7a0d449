#include "eval/scoring/episode_score.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "eval/scoring/culprit_match.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

constexpr size_t kTop = 3;

bool IsRightClass(VerdictClass verdict_class, const TrueCause& cause) {
  return verdict_class == cause.verdict_class ||
         std::find(cause.acceptable.begin(), cause.acceptable.end(), verdict_class) != cause.acceptable.end();
}

// Whether a verdict speaks of somebody, as an accusation or as the odd one out of a software fault.
bool PointsAtSomebody(const Verdict& verdict) {
  return AccusesNode(verdict) || (verdict.scope == VerdictScope::kSoftware && !verdict.culprits.empty());
}

bool IsAbout(const Verdict& verdict, const TrueCause& cause) {
  if (cause.culprits.empty()) return IsRightClass(verdict.verdict_class, cause);
  if (!PointsAtSomebody(verdict)) return false;
  return NamesTheGroup(verdict, cause) ||
         std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                     [&](const Culprit& culprit) { return NamesAnyExactly(culprit, cause); });
}

std::set<std::string> HostsOf(const std::vector<Culprit>& culprits) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : culprits) {
    hosts.insert(culprit.host);
    if (!culprit.peer_host.empty()) hosts.insert(culprit.peer_host);
  }
  return hosts;
}

bool IsExactSet(const Verdict& verdict, const TrueCause& cause) {
  if (NamesTheGroup(verdict, cause)) return true;
  // Both ends of a stuck transfer, as a pair or one by one.
  if (cause.kind == FaultKind::kTransferStuck) return HostsOf(verdict.culprits) == HostsOf(cause.culprits);
  const auto named = [&](const Culprit& culprit) {
    return std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                       [&](const Culprit& answer) { return NamesExactly(answer, culprit, cause); });
  };
  const bool all_named = std::all_of(cause.culprits.begin(), cause.culprits.end(), named);
  // Of two that do not agree on a call, nothing tells which of them is wrong: both may be listed.
  const bool tie = cause.scope == VerdictScope::kSoftware && verdict.culprits.size() == 2 * cause.culprits.size();
  return all_named && (tie || std::all_of(verdict.culprits.begin(), verdict.culprits.end(),
                                          [&](const Culprit& answer) { return NamesAnyExactly(answer, cause); }));
}

// Several verdicts may share a cause, such as one per hung rank: the set is then that of all of them together.
std::optional<Verdict> AllAbout(const JobReport& report, const TrueCause& cause) {
  std::optional<Verdict> all;
  for (const Verdict& verdict : report.verdicts) {
    if (!IsAbout(verdict, cause)) continue;
    if (!all.has_value()) {
      all = verdict;
    } else {
      all->culprits.insert(all->culprits.end(), verdict.culprits.begin(), verdict.culprits.end());
    }
  }
  return all;
}

// The verdict that answers for the cause; of several about it the one that names fewest, since one of many members of a
// group may be the culprit of another. An accusation in an episode where nobody is to blame is the answer, whatever
// else was said.
const Verdict* AnswerFor(const JobReport& report, const TrueCause& cause, size_t causes) {
  const auto first = [&](auto&& wanted) -> const Verdict* {
    const auto found = std::find_if(report.verdicts.begin(), report.verdicts.end(), wanted);
    return found == report.verdicts.end() ? nullptr : &*found;
  };
  if (cause.culprits.empty() && causes == 1) {
    if (const Verdict* accusation = first(AccusesNode)) return accusation;
  }
  const Verdict* about = nullptr;
  for (const Verdict& verdict : report.verdicts) {
    if (!IsAbout(verdict, cause)) continue;
    if (about == nullptr || verdict.culprits.size() < about->culprits.size()) about = &verdict;
  }
  if (about != nullptr) return about;
  return causes == 1 ? first([](const Verdict& verdict) { return verdict.type() == FindingType::kAccusation; })
                     : nullptr;
}

void ScoreSuspects(const JobReport& report, const TrueCause& cause, CauseScore* score) {
  size_t place = 0;
  for (const Verdict& verdict : report.verdicts) {
    if (!PointsAtSomebody(verdict)) continue;
    const bool tie = verdict.scope == VerdictScope::kSoftware && IsAbout(verdict, cause) && IsExactSet(verdict, cause);
    if (tie || NamesTheGroup(verdict, cause)) {  // one suspect, however many members
      score->top1 = score->top1 || place == 0;
      score->top1_host = score->top1_host || place == 0;
      score->top3 = score->top3 || place < kTop;
      ++place;
      continue;
    }
    for (const Culprit& culprit : verdict.culprits) {
      const bool exact = NamesAnyExactly(culprit, cause);
      score->top1 = score->top1 || (place == 0 && exact);
      score->top1_host = score->top1_host || (place == 0 && NamesAnyHost(culprit, cause));
      score->top3 = score->top3 || (place < kTop && exact);
      ++place;
    }
  }
}

CauseScore ScoreCause(const JobReport& report, const TrueCause& cause, size_t causes, double min_cost) {
  CauseScore score;
  score.kind = cause.kind;
  score.cost = cause.cost.slowdown_fraction;
  score.marginal_cost = cause.marginal_cost.slowdown_fraction;
  score.accusable = !cause.culprits.empty() && (InfoOf(cause.kind).hang || score.cost >= min_cost);
  score.culprits = static_cast<int64_t>(cause.culprits.size());
  ScoreSuspects(report, cause, &score);
  if (const std::optional<Verdict> all = AllAbout(report, cause); all.has_value()) {
    for (const Culprit& culprit : cause.culprits) {
      const auto names = [&](const Culprit& answer) { return NamesExactly(answer, culprit, cause); };
      const bool named = NamesTheGroup(*all, cause) || std::any_of(all->culprits.begin(), all->culprits.end(), names);
      score.culprits_named += named ? 1 : 0;
    }
    score.exact_set = !all->culprits.empty() && IsExactSet(*all, cause);
  }
  const Verdict* answer = AnswerFor(report, cause, causes);
  score.named = answer != nullptr && IsAbout(*answer, cause);
  score.predicted = answer == nullptr ? "none" : Name(answer->verdict_class);
  score.claimed_cost = score.named ? answer->cost.slowdown_fraction : 0;
  const bool silence_is_right = cause.scope == VerdictScope::kUnknown;
  score.class_right = answer == nullptr ? silence_is_right
                                        : IsRightClass(answer->verdict_class, cause) &&
                                              !(cause.culprits.empty() && AccusesNode(*answer));
  return score;
}

void ScoreAccusations(const JobReport& report, const Truth& truth, EpisodeScore* score) {
  std::set<std::string> accused, wrongly;
  for (const Verdict& verdict : report.verdicts) {
    if (!AccusesNode(verdict)) continue;
    for (const Culprit& culprit : verdict.culprits) {
      for (const std::string& host : {culprit.host, culprit.peer_host}) {
        if (host.empty()) continue;
        accused.insert(host);
        const bool innocent = std::all_of(truth.causes.begin(), truth.causes.end(),
                                          [&](const TrueCause& cause) { return IsInnocent(host, cause); });
        if (innocent) wrongly.insert(host);
      }
    }
  }
  score->hosts_accused = static_cast<int64_t>(accused.size());
  score->accused_wrongly.assign(wrongly.begin(), wrongly.end());
}

}  // namespace

std::vector<Culprit> Suspects(const JobReport& report) {
  std::vector<Culprit> suspects;
  for (const Verdict& verdict : report.verdicts) {
    if (PointsAtSomebody(verdict)) {
      suspects.insert(suspects.end(), verdict.culprits.begin(), verdict.culprits.end());
    }
  }
  return suspects;
}

EpisodeScore ScoreReport(const JobReport& report, const Truth& truth, double min_cost) {
  EpisodeScore score;
  for (const TrueCause& cause : truth.causes) {
    score.causes.push_back(ScoreCause(report, cause, truth.causes.size(), min_cost));
  }
  ScoreAccusations(report, truth, &score);
  score.state_right = report.state == truth.state;
  return score;
}

RankingScore ScoreRanking(const Ranking& ranking, const Trace& trace, const Truth& truth) {
  RankingScore score;
  const TrueCause* cause = truth.causes.empty() ? nullptr : &truth.causes.front();
  std::set<size_t> found;
  const size_t budget = cause == nullptr ? 0 : cause->culprits.size();
  for (size_t place = 0; place < ranking.size(); ++place) {
    const TraceRank& rank = trace.ranks[static_cast<size_t>(ranking[place].rank_index)];
    Culprit suspect;
    suspect.host = trace.hosts[static_cast<size_t>(rank.host)];
    suspect.rank = rank.rank;
    score.accused += ranking[place].accused ? 1 : 0;
    const bool innocent = std::all_of(truth.causes.begin(), truth.causes.end(),
                                      [&](const TrueCause& c) { return IsInnocent(suspect.host, c); });
    score.accused_wrongly += ranking[place].accused && innocent ? 1 : 0;
    for (size_t i = 0; i < budget && (place < kTop || place < budget); ++i) {
      const Culprit& culprit = cause->culprits[i];
      // A ranking of ranks cannot say "the link": one of its ends is as good as it gets.
      const bool host = NamesHost(suspect, culprit);
      const bool exact = culprit.peer_host.empty() ? NamesExactly(suspect, culprit, *cause) : host;
      score.top1 = score.top1 || (place == 0 && exact);
      score.top1_host = score.top1_host || (place == 0 && host);
      score.top3 = score.top3 || (place < kTop && exact);
      if (exact && place < budget) found.insert(i);
    }
  }
  if (budget > 0) score.recall = static_cast<double>(found.size()) / static_cast<double>(budget);
  return score;
}

}  // namespace lockstep
