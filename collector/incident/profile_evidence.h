// What profiles of ranks have shown, as part of an incident.
//
// The engine sees no profiles: its newer verdicts replace what it has said of an incident, and what a profile has shown
// stays beside that until a newer profile. An incident may rest on profiles alone. Pure.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_PROFILE_EVIDENCE_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_PROFILE_EVIDENCE_H_

#include <cstdint>
#include <set>
#include <vector>

#include "detector/verdict/verdict.h"
#include "proto/incident.pb.h"

namespace lockstep {

// What came of profiles of some ranks of a job, taken at the same time.
struct JobProfile {
  std::vector<Verdict> findings;  // accusations and observations
  std::set<int32_t> ranks;        // that were profiled
  uint64_t incident = 0;          // because of which; 0 = none
};

// Evidence of this kind comes from profiles and from nothing else.
inline constexpr char kProfileEvidence[] = "profile";
inline constexpr int kMaxProfileEvidence = 16;  // of an incident; further pieces are left out

// Whether profiles alone say that there is such a cause.
bool RestsOnProfiles(const wire::Incident& incident);

// Makes all evidence of `verdict` evidence of a profile.
void BecomeProfileEvidence(wire::Verdict& verdict);

// Adds the evidence of profiles that `from` has to that of `to`.
void CopyProfileEvidence(const wire::Verdict& from, wire::Verdict& to);

// False: there was none.
bool DropProfileEvidence(wire::Verdict& verdict);

// Whether `known` names all culprits of `found`, which has some: as ranks, or by their hosts.
bool Covers(const wire::Verdict& known, const wire::Verdict& found);

// Whether those that `verdict` names were all among the profiled; of a verdict that names nobody, whether any rank was.
bool WasProfiled(const JobProfile& profile, const wire::Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_PROFILE_EVIDENCE_H_
