#include "eval/fleets/fleet_score.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "detector/verdict/verdict.h"
#include "sim/second/fault.h"

namespace lockstep {
namespace {

using second::TrueFault;
using second::Truth;

constexpr double kMany = 0.7;  // of many slow hosts so many have to be named
constexpr double kAny = 0.01;
constexpr double kLeastCost = 0.03;
// What is claimed may exceed what was lost by so much before it is unsound.
constexpr double kClaimFactor = 1.5;
constexpr double kClaimSlack = 0.05;

template <typename Values, typename Value>
bool Contains(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

class Judging {
 public:
  Judging(const Truth& truth, const JobReport& report) : truth_(truth), report_(report) {
    for (const TrueFault& fault : truth.faults) {
      culprits_.insert(fault.hosts.begin(), fault.hosts.end());
      has_blamable_ |= fault.machine_fault;
      if (fault.machine_fault && !fault.silence_ok) loud_.push_back(&fault);
    }
    for (const Verdict& verdict : report.verdicts) Accuse(verdict);
  }

  FleetScore Score() const;

 private:
  bool IsFair(const Verdict& verdict, const std::string& host) const;
  void Accuse(const Verdict& verdict);
  std::vector<const Verdict*> Naming(const TrueFault& fault) const;
  bool IsFound(const TrueFault& fault) const;
  bool IsExact() const;
  std::optional<bool> ClassRight() const;
  std::optional<double> CostError() const;
  bool IsRight(const FleetScore& score) const;
  bool IsUnsound() const;

  const Truth& truth_;
  const JobReport& report_;
  std::set<std::string> culprits_;
  std::vector<const TrueFault*> loud_;  // that have to be named
  bool has_blamable_ = false;
  std::vector<std::string> accused_;  // in the order of the verdicts
  std::set<std::string> innocents_;
};

// Members of a slow or stuck communicator may be named as such; a deadlock has no single author.
bool Judging::IsFair(const Verdict& verdict, const std::string& host) const {
  if (culprits_.contains(host) || (truth_.hang && culprits_.empty())) return true;
  return std::any_of(truth_.faults.begin(), truth_.faults.end(), [&](const TrueFault& fault) {
    return Contains(fault.also_ok, host) && Contains(fault.classes, Name(verdict.verdict_class));
  });
}

void Judging::Accuse(const Verdict& verdict) {
  const bool counts_in_hangs = verdict.scope == VerdictScope::kSoftware || verdict.scope == VerdictScope::kUnknown;
  if (!AccusesNode(verdict) && !(truth_.hang && counts_in_hangs)) return;
  for (const Culprit& culprit : verdict.culprits) {
    const bool is_link = verdict.verdict_class == VerdictClass::kLinkSlow;
    for (const std::string& host : {culprit.host, is_link ? culprit.peer_host : std::string()}) {
      if (host.empty()) continue;
      if (!Contains(accused_, host)) accused_.push_back(host);
      if (!IsFair(verdict, host) || (AccusesNode(verdict) && !has_blamable_)) innocents_.insert(host);
    }
  }
}

// Verdicts of an accepted class about an accepted host.
std::vector<const Verdict*> Judging::Naming(const TrueFault& fault) const {
  std::vector<const Verdict*> naming;
  for (const Verdict& verdict : report_.verdicts) {
    if (!Contains(fault.classes, Name(verdict.verdict_class))) continue;
    const bool near = std::any_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& culprit) {
      return Contains(fault.hosts, culprit.host) || Contains(fault.also_ok, culprit.host);
    });
    if (near || !fault.machine_fault) naming.push_back(&verdict);
  }
  return naming;
}

bool Judging::IsFound(const TrueFault& fault) const {
  const auto named = std::count_if(fault.hosts.begin(), fault.hosts.end(),
                                   [&](const std::string& host) { return Contains(accused_, host); });
  const double share = fault.fault.kind == second::FaultKind::kHostsSlow ? kMany : kAny;
  return static_cast<double>(named) >= share * static_cast<double>(fault.hosts.size());
}

bool Judging::IsExact() const {
  const bool leeway = std::any_of(truth_.faults.begin(), truth_.faults.end(),
                                  [](const TrueFault& fault) { return !fault.also_ok.empty(); });
  if (leeway && !accused_.empty() && innocents_.empty()) return true;
  std::set<std::string> sure;
  for (const TrueFault* const fault : loud_) sure.insert(fault->hosts.begin(), fault->hosts.end());
  if (sure.empty()) sure = culprits_;
  const bool all_named =
      std::all_of(sure.begin(), sure.end(), [&](const std::string& host) { return Contains(accused_, host); });
  return all_named && std::all_of(accused_.begin(), accused_.end(),
                                  [&](const std::string& host) { return culprits_.contains(host); });
}

std::optional<bool> Judging::ClassRight() const {
  std::optional<bool> right;
  for (const TrueFault& fault : truth_.faults) {
    if (fault.machine_fault && fault.silence_ok) continue;
    right = right.value_or(true) && !Naming(fault).empty();
  }
  return right;
}

std::optional<double> Judging::CostError() const {
  for (const TrueFault& fault : truth_.faults) {
    if (truth_.hang || fault.cost.slowdown_fraction < kLeastCost) continue;
    const std::vector<const Verdict*> naming = Naming(fault);
    if (naming.empty()) continue;
    double told = 0;  // what several hosts cost is said of each of them, in parts that add up
    for (const Verdict* const verdict : naming) told += verdict->cost.slowdown_fraction;
    const auto error = [&](double true_cost) { return std::abs(told - true_cost) / true_cost; };
    return std::min(error(fault.cost.slowdown_fraction), error(fault.cost.slowdown_fraction_affected));
  }
  return std::nullopt;
}

bool Judging::IsRight(const FleetScore& score) const {
  if (truth_.hang && !has_blamable_) {
    return innocents_.empty() && score.class_right.value_or(false) &&
           (culprits_.empty() || score.exact.value_or(false));
  }
  if (truth_.hang) {
    return score.exact.value_or(false) &&
           std::any_of(report_.verdicts.begin(), report_.verdicts.end(), [](const Verdict& verdict) {
             return verdict.type() != FindingType::kAbstention && IsHang(verdict.verdict_class);
           });
  }
  if (!innocents_.empty()) return false;
  return loud_.empty() || (score.top1.value_or(false) &&
                           std::all_of(loud_.begin(), loud_.end(), [&](const TrueFault* f) { return IsFound(*f); }));
}

bool Judging::IsUnsound() const {
  if (truth_.hang) return report_.state == JobState::kHealthy;
  double lost = 0;
  for (const TrueFault& fault : truth_.faults) {
    lost += fault.cost.slowdown_fraction_affected;
    if (report_.state == JobState::kHealthy && fault.cost.slowdown_fraction_affected >= kLeastCost) return true;
  }
  double claimed = 0;
  for (const Verdict& verdict : report_.verdicts) claimed += AccusesNode(verdict) ? verdict.cost.slowdown_fraction : 0;
  return claimed > kClaimFactor * lost + kClaimSlack;
}

FleetScore Judging::Score() const {
  FleetScore score;
  score.accused = static_cast<int>(accused_.size());
  score.innocents = static_cast<int>(innocents_.size());
  score.class_right = ClassRight();
  if (!culprits_.empty() && (!loud_.empty() || truth_.hang)) {
    score.top1 = !accused_.empty() && !innocents_.contains(accused_.front());
    score.exact = IsExact();
  }
  score.cost_error = CostError();
  score.right = IsRight(score);
  score.unsound = IsUnsound();
  return score;
}

}  // namespace

FleetScore ScoreFleet(const Truth& truth, const JobReport& report) { return Judging(truth, report).Score(); }

}  // namespace lockstep
