#include "cli/render/timeline_text.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "cli/render/json.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

double Seconds(int64_t nanos) { return static_cast<double>(nanos) / kNanosPerSecond; }

void AppendSpell(const CauseSpell& spell, std::string& text) {
  absl::StrAppendFormat(&text, "%8.1f s  appears   %s\n            %s\n", Seconds(spell.appeared_ns), spell.key,
                        ToJsonLine(spell.first));
  if (spell.newest != spell.first) absl::StrAppend(&text, "    newest: ", ToJsonLine(spell.newest), "\n");
  if (spell.vanished_ns == CauseSpell::kStays) return;
  absl::StrAppendFormat(&text, "%8.1f s  vanishes  %s\n", Seconds(spell.vanished_ns), spell.key);
}

}  // namespace

std::string TimelineText(const ConclusionTimeline& timeline) {
  std::string text = "timeline, in seconds since the start of the job:\n";
  for (const StateChange& change : timeline.states()) {
    absl::StrAppendFormat(&text, "%8.1f s  state     %s: %s\n", Seconds(change.at_ns), Name(change.state), change.note);
  }
  for (const CauseSpell& spell : timeline.spells()) AppendSpell(spell, text);
  return text;
}

}  // namespace lockstep
