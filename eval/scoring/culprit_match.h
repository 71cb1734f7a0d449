// Whether an answer names who it was.
//
// A GPU is named by its rank, a host by its name, a NIC by its host (and by rank or device where the answer gives one,
// since operation records do not know device names), a link by both of its ends in either order. Naming the host of a
// broken GPU is not exact: it would cost somebody seven healthy ones. Pure functions.

#ifndef LOCKSTEP_EVAL_SCORING_CULPRIT_MATCH_H_
#define LOCKSTEP_EVAL_SCORING_CULPRIT_MATCH_H_

#include <string>

#include "absl/strings/string_view.h"
#include "detector/verdict/verdict.h"
#include "sim/episode.h"

namespace lockstep {

// One of the cause's culprits, as precisely as the truth knows it.
bool NamesExactly(const Culprit& answer, const Culprit& culprit, const TrueCause& cause);

// At least the machine, or one end of the link.
bool NamesHost(const Culprit& answer, const Culprit& culprit);

// The same against any of the cause's culprits.
bool NamesAnyExactly(const Culprit& answer, const TrueCause& cause);
bool NamesAnyHost(const Culprit& answer, const TrueCause& cause);

// A verdict about a group whose members operation records cannot tell apart: everybody to blame is in it, and nobody
// from outside of the group. Where they are more than a quarter of the job, the verdict rightly names nobody and tells
// only whose transfers are slow.
bool NamesTheGroup(const Verdict& verdict, const TrueCause& cause);

// Not to be blamed for any part of the cause: neither culprit nor of the group that cannot be told from the culprits.
bool IsInnocent(absl::string_view host, const TrueCause& cause);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SCORING_CULPRIT_MATCH_H_
