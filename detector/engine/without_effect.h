// Accusations whose removal would give nothing back.
//
// A cause may cost much in a replay without all other causes (counterfactual_gain.h), although these are too cheap to
// be told of: then whoever mends all that is told gains nothing by it. So what hides behind others has to give back
// half of the limit (CostLimit) when all else that is told is gone. Of several that are equally slow each does. One
// that is told by its whole event, too cheap by itself, is left. Pure.

#ifndef LOCKSTEP_DETECTOR_ENGINE_WITHOUT_EFFECT_H_
#define LOCKSTEP_DETECTOR_ENGINE_WITHOUT_EFFECT_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "detector/verdict/cost_limit.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// The number of the one with least effect, the last of equals; nothing where all have one. When it is gone the others
// have more: of one rank that is told twice one is left. `last_seconds`: by verdict, as GivenBackLast (remedies.h).
// `ledger` of the verdicts, whose costs are not shared yet.
std::optional<size_t> LeastWithoutEffect(absl::Span<const double> last_seconds, const TimeLedger& ledger,
                                         const CostLimit& limit, absl::Span<const Verdict> verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_WITHOUT_EFFECT_H_
