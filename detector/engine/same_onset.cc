#include "detector/engine/same_onset.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/shares.h"
#include "detector/slow/counterfactual_gain.h"
#include "detector/slow/persistent_excess.h"

namespace lockstep {
namespace {

bool Accuses(const Verdict& verdict) {
  return !IsHang(verdict.verdict_class) && !verdict.culprits.empty() &&
         verdict.first_step >= static_cast<int64_t>(kMinPastSteps) &&
         (verdict.scope == VerdictScope::kMachine || verdict.scope == VerdictScope::kNetwork);
}

bool BeganTogether(const Verdict& a, const Verdict& b) {
  return std::abs(a.first_step - b.first_step) <= kSameOnsetSteps;
}

bool ShareHost(const Verdict& a, const Verdict& b) {
  const auto names = [](const Verdict& verdict, const Culprit& culprit) {
    return std::any_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& other) {
      return other.host == culprit.host || other.peer_host == culprit.host ||
             (!culprit.peer_host.empty() && (other.host == culprit.peer_host || other.peer_host == culprit.peer_host));
    });
  };
  return std::any_of(a.culprits.begin(), a.culprits.end(), [&](const Culprit& culprit) { return names(b, culprit); });
}

}  // namespace

void DropEchoesOfDearer(std::vector<Verdict>* verdicts) {
  std::vector<char> echo(verdicts->size(), 0);
  for (size_t i = 0; i < verdicts->size(); ++i) {
    const Verdict& cheap = (*verdicts)[i];
    if (!Accuses(cheap)) continue;
    size_t together = 0;
    bool explained = false;
    for (const Verdict& other : *verdicts) {
      if (!Accuses(other) || !BeganTogether(cheap, other)) continue;
      ++together;
      const double both = cheap.cost.seconds_per_step + other.cost.seconds_per_step;
      explained |= other.cost.seconds_per_step >= kMajorPart * both && !ShareHost(cheap, other);
    }
    echo[i] = explained && together < kMinEventCauses ? 1 : 0;
  }
  size_t at = 0;
  std::erase_if(*verdicts, [&](const Verdict&) { return echo[at++] != 0; });
}

}  // namespace lockstep
