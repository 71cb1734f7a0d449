#include "detector/verdict/verdict_merge.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace lockstep {
namespace {

bool ShareACulprit(const Verdict& a, const Verdict& b) {
  return std::any_of(a.culprits.begin(), a.culprits.end(), [&b](const Culprit& culprit) {
    return std::any_of(b.culprits.begin(), b.culprits.end(),
                       [&culprit](const Culprit& other) { return other.host == culprit.host; });
  });
}

bool IsKnown(const Verdict& found, const std::vector<Verdict>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(), [&found](const Verdict& verdict) {
    return (Blames(verdict) || !Blames(found)) && ShareACulprit(found, verdict);
  });
}

// Of machines that `verdict` names, each by itself.
void TakeObservations(std::vector<Verdict>* verdicts, Verdict* verdict) {
  const auto is_of_it = [verdict](const Verdict& other) {
    return other.type() == FindingType::kObservation && ShareACulprit(other, *verdict);
  };
  for (Verdict& other : *verdicts) {
    if (is_of_it(other)) std::move(other.evidence.begin(), other.evidence.end(), std::back_inserter(verdict->evidence));
  }
  std::erase_if(*verdicts, is_of_it);
}

// The first that blames the machine has it as evidence.
void GiveTo(std::vector<Verdict>* verdicts, const Verdict& observation) {
  const auto blaming = std::find_if(verdicts->begin(), verdicts->end(), [&observation](const Verdict& verdict) {
    return Blames(verdict) && ShareACulprit(verdict, observation);
  });
  if (blaming == verdicts->end()) return;
  blaming->evidence.insert(blaming->evidence.end(), observation.evidence.begin(), observation.evidence.end());
}

}  // namespace

bool Blames(const Verdict& verdict) { return AccusesNode(verdict) || verdict.scope == VerdictScope::kSoftware; }

void MergeVerdicts(const std::vector<Verdict>& found, std::vector<Verdict>* verdicts) {
  std::vector<Verdict> fresh;
  for (const Verdict& verdict : found) {
    if (!IsKnown(verdict, *verdicts)) {
      fresh.push_back(verdict);
    } else if (verdict.type() == FindingType::kObservation) {
      GiveTo(verdicts, verdict);
    }
  }
  for (Verdict& verdict : fresh) {
    if (Blames(verdict)) TakeObservations(verdicts, &verdict);
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(*verdicts));
}

void MergeFindings(std::vector<Verdict> findings, absl::FunctionRef<bool(const Verdict&)> stands,
                   std::vector<Verdict>* verdicts) {
  const auto of_job = static_cast<std::ptrdiff_t>(verdicts->size());
  const auto gives_way = [&](const Verdict& finding, std::vector<Verdict>::const_iterator known) {
    return known - verdicts->cbegin() >= of_job && AccusesNode(*known) && !AccusesNode(finding);
  };
  for (Verdict& finding : findings) {
    const auto same_host = [&finding](const Verdict& verdict) {
      return !finding.culprits.empty() && !verdict.culprits.empty() &&
             std::all_of(verdict.culprits.begin(), verdict.culprits.end(),
                         [&finding](const Culprit& culprit) { return culprit.host == finding.culprits.front().host; });
    };
    const auto known = std::find_if(verdicts->begin(), verdicts->end(), same_host);
    if (known == verdicts->end()) {
      verdicts->push_back(std::move(finding));
    } else if (known->culprits.front().rank >= 0) {
      const int32_t gpu = finding.culprits.front().gpu, known_gpu = known->culprits.front().gpu;
      const bool of_another_gpu = gpu >= 0 && known_gpu >= 0 && gpu != known_gpu;
      const bool broken =
          finding.verdict_class == VerdictClass::kGpuFault && IsHang(known->verdict_class) && !of_another_gpu;
      // What a driver says of a program that died is no more than that; that its GPU is broken explains the death.
      if (!broken || (known->verdict_class == VerdictClass::kProcessDead && !AccusesNode(finding))) continue;
      if (AccusesNode(finding)) known->scope = finding.scope;
      known->verdict_class = finding.verdict_class;
      known->advice = finding.advice;
    } else if (stands(finding) && !stands(*known) && !gives_way(finding, known)) {
      finding.cost = known->cost;
      std::move(known->evidence.begin(), known->evidence.end(), std::back_inserter(finding.evidence));
      *known = std::move(finding);
    }
  }
}

}  // namespace lockstep
