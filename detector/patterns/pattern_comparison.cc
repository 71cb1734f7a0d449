#include "detector/patterns/pattern_comparison.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/types/span.h"
#include "detector/patterns/abnormal_units.h"
#include "detector/patterns/duty_groups.h"
#include "detector/patterns/duty_order.h"
#include "detector/patterns/function_excess.h"
#include "detector/patterns/group_betas.h"
#include "detector/stats/median.h"

namespace lockstep {
namespace {

constexpr double kSameWorkers = 0.5;       // of two sets, shared by both
constexpr size_t kLeastHostFunctions = 4;  // of fewer, no share tells anything
constexpr double kSlowedShare = 0.7;       // of the functions of a host that is slow itself
constexpr double kSlowed = 1.6;            // times as long a call
constexpr double kMajority = 0.5;          // of the workers: what is wrong on all of a duty is wrong on all
constexpr double kLeastGpuWork = 0.1;      // of the time, for the spread of the host's calls to tell anything
constexpr double kContendedSpread = 1.3;   // of durations of a function whose thread is often taken off its core

// Units with one meaning and the same workers.
struct Cause {
  PatternClass pattern_class = PatternClass::kHostWork;
  std::vector<AbnormalUnit> units;
  std::set<uint32_t> places;

  double excess() const {
    double sum = 0;
    for (const AbnormalUnit& unit : units) sum += unit.excess();
    return sum;
  }
};

bool IsOfHostGroup(FunctionGroup group) { return group >= FunctionGroup::kLaunch; }

double SharedPart(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  size_t both = 0;
  for (const uint32_t place : a) both += b.count(place);
  return static_cast<double>(both) / static_cast<double>(std::max<size_t>(1, a.size() + b.size() - both));
}

size_t HostGroups(const std::vector<AbnormalUnit>& units) {
  std::set<FunctionGroup> groups;
  for (const AbnormalUnit& unit : units) {
    if (IsOfHostGroup(unit.group)) groups.insert(unit.group);
  }
  return groups.size();
}

class Comparison {
 public:
  Comparison(const PatternFleet& fleet, const ComparisonOptions& options)
      : fleet_(fleet), options_(options), order_(OrderByDuty(DutyGroups(fleet))), groups_(SumGroups(fleet, order_)) {}

  PatternReport Report() {
    PatternReport report;
    report.duties = order_.duties();
    for (size_t duty = 0; duty < order_.duties(); ++duty) {
      report.largest_duty = std::max(report.largest_duty, static_cast<uint32_t>(order_.size_of(duty)));
    }
    std::vector<float> idle;
    for (const FleetWorker& worker : fleet_.workers()) idle.push_back(worker.idle);
    if (!idle.empty()) report.idle = MedianOf(absl::MakeSpan(idle));
    std::vector<AbnormalUnit> units = FindAbnormalUnits(fleet_, order_, groups_, options_);
    std::stable_sort(units.begin(), units.end(),
                     [](const AbnormalUnit& a, const AbnormalUnit& b) { return a.excess() > b.excess(); });
    for (Cause& cause : Explaining(CausesOf(std::move(units)))) report.findings.push_back(FindingOf(cause));
    std::stable_sort(report.findings.begin(), report.findings.end(),
                     [](const PatternFinding& a, const PatternFinding& b) { return a.excess() > b.excess(); });
    return report;
  }

 private:
  std::vector<Cause> CausesOf(std::vector<AbnormalUnit> units) const {
    std::vector<Cause> causes;
    for (std::vector<AbnormalUnit>& together : Together(std::move(units))) {
      const bool contended = IsContended(together);
      for (AbnormalUnit& unit : together) {
        const bool as_host = contended && IsOfHostGroup(unit.group);
        AddTo(causes, as_host ? PatternClass::kHostContention : TraitsOf(unit.group).pattern_class, std::move(unit));
      }
    }
    return causes;
  }

  // Units of the same workers; those of all are together.
  std::vector<std::vector<AbnormalUnit>> Together(std::vector<AbnormalUnit> units) const {
    std::vector<std::vector<AbnormalUnit>> sets;
    for (AbnormalUnit& unit : units) {
      const std::set<uint32_t> places(unit.places.begin(), unit.places.end());
      const auto fits = std::find_if(sets.begin(), sets.end(), [&](const std::vector<AbnormalUnit>& set) {
        const AbnormalUnit& first = set.front();
        if (first.of_all || unit.of_all) return first.of_all && unit.of_all;
        return SharedPart({first.places.begin(), first.places.end()}, places) >= kSameWorkers;
      });
      if (fits == sets.end()) {
        sets.emplace_back().push_back(std::move(unit));
      } else {
        fits->push_back(std::move(unit));
      }
    }
    return sets;
  }

  bool IsContended(const std::vector<AbnormalUnit>& units) const {
    if (HostGroups(units) == 0) return false;
    if (!units.front().of_all) return IsSlowHost(units.front());
    return KernelShare() >= kLeastGpuWork && SpreadOfOtherHostWork(units.front().group) >= kContendedSpread;
  }

  // Of the time of all workers. Where GPUs do little, calls of the host are of many lengths by nature.
  double KernelShare() const {
    double sum = 0;
    for (size_t group = 0; group <= static_cast<size_t>(FunctionGroup::kOtherKernel); ++group) {
      for (const float beta : groups_[group]) sum += static_cast<double>(beta);
    }
    return sum / static_cast<double>(std::max<size_t>(1, order_.workers.size()));
  }

  // Whether calls of most functions of the host take longer on those workers, and not only of the one in question.
  bool IsSlowHost(const AbnormalUnit& unit) const {
    std::vector<char> is_named(order_.size_of(unit.duty), 0);
    const size_t begin = order_.begins[unit.duty];
    for (const uint32_t place : unit.places) is_named[place - begin] = 1;
    size_t functions = 0;
    size_t slowed = 0;
    for (const FleetFunction& function : fleet_.functions()) {
      if (!IsOfHost(function.kind)) continue;
      std::vector<float> theirs;
      std::vector<float> usual;
      for (const PatternCell& cell : function.cells) {
        const uint32_t place = order_.places[cell.worker];
        if (place < begin || place >= order_.begins[unit.duty + 1]) continue;
        (is_named[place - begin] != 0 ? theirs : usual).push_back(cell.mean_seconds);
      }
      if (theirs.empty() || usual.empty()) continue;
      ++functions;
      slowed += MedianOf(absl::MakeSpan(theirs)) > kSlowed * MedianOf(absl::MakeSpan(usual)) ? 1 : 0;
    }
    return functions >= kLeastHostFunctions &&
           static_cast<double>(slowed) >= kSlowedShare * static_cast<double>(functions);
  }

  // Of the calls of functions of the host, but for those of `group`: median of the functions.
  double SpreadOfOtherHostWork(FunctionGroup group) const {
    std::vector<float> spreads;
    for (const FleetFunction& function : fleet_.functions()) {
      if (!IsOfHost(function.kind) || function.group == group) continue;
      std::vector<float> theirs;
      for (const PatternCell& cell : function.cells) theirs.push_back(cell.spread);
      if (2 * theirs.size() >= fleet_.workers().size()) {
        spreads.push_back(static_cast<float>(MedianOf(absl::MakeSpan(theirs))));
      }
    }
    return spreads.size() < kLeastHostFunctions ? 0 : MedianOf(absl::MakeSpan(spreads));
  }

  // A cause is of one class; units of one class belong together when their workers are the same, and over duties.
  static void AddTo(std::vector<Cause>& causes, PatternClass pattern_class, AbnormalUnit unit) {
    const std::set<uint32_t> places(unit.places.begin(), unit.places.end());
    const auto fits = std::find_if(causes.begin(), causes.end(), [&](const Cause& cause) {
      const AbnormalUnit& first = cause.units.front();
      if (cause.pattern_class != pattern_class || first.of_all != unit.of_all) return false;
      const bool other_duty = std::none_of(cause.units.begin(), cause.units.end(),
                                           [&](const AbnormalUnit& one) { return one.duty == unit.duty; });
      const bool within = std::includes(cause.places.begin(), cause.places.end(), places.begin(), places.end()) ||
                          std::includes(places.begin(), places.end(), cause.places.begin(), cause.places.end());
      return unit.of_all || other_duty || within || SharedPart(cause.places, places) >= kSameWorkers;
    });
    Cause& cause = fits == causes.end() ? causes.emplace_back() : *fits;
    cause.pattern_class = pattern_class;
    cause.places.insert(places.begin(), places.end());
    cause.units.push_back(std::move(unit));
  }

  // Without those that others explain: who waits in communication waits for somebody; work of the host that is known
  // by no better name comes with what has one; and what all have, some may have more of.
  static std::vector<Cause> Explaining(std::vector<Cause> causes) {
    const auto explains = [](const Cause& by, const Cause& cause) {
      if (&by == &cause) return false;
      const bool by_all = by.units.front().of_all;
      const bool of_all = cause.units.front().of_all;
      if (by.pattern_class == PatternClass::kCommunicationWait) {
        return cause.pattern_class == PatternClass::kCommunicationWait && of_all && !by_all;
      }
      if (cause.pattern_class == PatternClass::kCommunicationWait) return true;
      if (by_all && !of_all && by.pattern_class == cause.pattern_class) return true;
      const bool of_host = IsOfHostGroup(cause.units.front().group);
      if (by_all && !of_all && by.pattern_class == PatternClass::kHostContention && of_host) return true;
      return cause.pattern_class == PatternClass::kHostWork && by.pattern_class != PatternClass::kHostWork &&
             by_all == of_all && (by_all || SharedPart(by.places, cause.places) >= kSameWorkers) &&
             by.excess() >= cause.excess();
    };
    std::vector<Cause> left;
    for (const Cause& cause : causes) {
      const bool explained =
          std::any_of(causes.begin(), causes.end(), [&](const Cause& by) { return explains(by, cause); });
      if (!explained) left.push_back(cause);
    }
    return left;
  }

  PatternFinding FindingOf(const Cause& cause) const {
    PatternFinding finding;
    finding.pattern_class = cause.pattern_class;
    const bool whole_duties = cause.units.front().of_all;
    std::set<size_t> duties;
    for (const AbnormalUnit& unit : cause.units) duties.insert(unit.duty);
    std::vector<char> named(order_.workers.size(), 0);
    for (const uint32_t place : cause.places) named[place] = 1;
    for (const size_t duty : duties) {
      finding.peers += static_cast<uint32_t>(order_.size_of(duty));
      const auto first = named.begin() + static_cast<std::ptrdiff_t>(order_.begins[duty]);
      if (whole_duties) std::fill_n(first, order_.size_of(duty), 1);
    }
    finding.of_all = whole_duties && finding.peers > kMajority * static_cast<double>(fleet_.workers().size());
    if (whole_duties) finding.peers = static_cast<uint32_t>(fleet_.workers().size());
    for (uint32_t place = 0; place < named.size(); ++place) {
      if (named[place] != 0) finding.workers.push_back(order_.workers[place]);
    }
    std::sort(finding.workers.begin(), finding.workers.end());
    // Units of one duty add up; duties are means of each other.
    finding.distance = cause.units.front().distance;
    finding.threshold = cause.units.front().threshold;
    for (const AbnormalUnit& unit : cause.units) {
      finding.beta += unit.beta / static_cast<double>(duties.size());
      finding.usual_beta += unit.usual_beta / static_cast<double>(duties.size());
    }
    ExcessQuery query{fleet_, order_, whole_duties, {duties.begin(), duties.end()}, std::move(named), {}, {}};
    for (const AbnormalUnit& unit : cause.units) {
      if (unit.function >= 0) query.functions.insert(unit.function);
      if (unit.function < 0) query.groups.insert(unit.group);
    }
    finding.functions = FindFunctionExcesses(query);
    return finding;
  }

  const PatternFleet& fleet_;
  const ComparisonOptions& options_;
  const DutyOrder order_;
  const GroupBetas groups_;
};

}  // namespace

PatternReport ComparePatterns(const PatternFleet& fleet, const ComparisonOptions& options) {
  return Comparison(fleet, options).Report();
}

}  // namespace lockstep
