// Whose agents may not know yet that the collector was started again: they are not heard, and nobody is unreachable.
//
// An agent whose collector has lost its power, or moved, may not be told: it leaves after a minute without an
// acknowledgement (agent/uplink/uplink_session.h), and comes within seconds. Pure.

#ifndef LOCKSTEP_COLLECTOR_AWAITED_AGENTS_H_
#define LOCKSTEP_COLLECTOR_AWAITED_AGENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collector/seen_span.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

inline constexpr int64_t kComeBackNanos = 75 * kNanosPerSecond;

// Whether its culprits are hosts that are not heard.
bool IsSilence(const Verdict& verdict);

// The verdicts at `now_ns` about a job whose engine was given the log of an earlier life at `resumed_ns` (0 = it was
// not), but those about hosts alone that were not seen since. `hosts`: when each was seen.
std::vector<Verdict> WithoutAwaited(std::vector<Verdict> verdicts, const std::map<std::string, SeenSpan>& hosts,
                                    int64_t resumed_ns, int64_t now_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_AWAITED_AGENTS_H_
