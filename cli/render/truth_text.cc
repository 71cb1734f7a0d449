#include "cli/render/truth_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "detector/verdict/verdict.h"
#include "sim/fault_spec.h"

namespace lockstep {

std::string TruthText(const Truth& truth) {
  std::string text;
  for (const TrueCause& cause : truth.causes) {
    const int64_t onset_ns = InfoOf(cause.kind).hang ? truth.hang_ns : cause.onset_ns;
    absl::StrAppendFormat(&text, "truth: %s %s, steps %d to %d, from %.1f s on, slowdown %.1f %%:", Name(cause.scope),
                          Name(cause.verdict_class), cause.first_step, cause.last_step,
                          static_cast<double>(onset_ns) * 1e-9, 100 * cause.cost.slowdown_fraction);
    for (const Culprit& culprit : cause.culprits) {
      absl::StrAppend(&text, " ", culprit.host, culprit.peer_host.empty() ? "" : "->", culprit.peer_host, "/rank",
                      culprit.rank, culprit.device.empty() ? "" : "/", culprit.device);
    }
    absl::StrAppend(&text, "; not to be told from: ", absl::StrJoin(cause.indistinguishable_hosts, ","), "\n");
  }
  absl::StrAppend(&text, "true state: ", Name(truth.state), "\n");
  return text;
}

}  // namespace lockstep
