#include "detector/counters/network_signs.h"

#include "detector/counters/counter_class.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

void AddNetworkSign(const std::string& host, absl::Span<const NamedSign> signs, int64_t onset_ms,
                    std::vector<MemberSign>* found) {
  const VerdictClass cause = NetworkClassOf(signs);
  if (IsNetwork(cause)) found->push_back({host, DeviceOf(signs), cause, onset_ms});
}

void AddNetworkSign(const HardwareFinding& finding, int64_t first_ms, std::vector<MemberSign>* found) {
  if (finding.host.empty() || !IsNetwork(finding.verdict_class)) return;
  found->push_back({finding.host, finding.device, finding.verdict_class, first_ms});
}

}  // namespace lockstep
