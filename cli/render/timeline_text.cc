#include "cli/render/timeline_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "cli/render/words.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr size_t kShownCulprits = 4;

double Seconds(int64_t nanos) { return static_cast<double>(nanos) / kNanosPerSecond; }

void AppendSpell(const CauseSpell& spell, std::string& text) {
  absl::StrAppendFormat(&text, "%8.1f s  appears   %s\n            %s\n", Seconds(spell.appeared_ns), spell.key,
                        ToJsonLine(spell.first));
  if (spell.newest != spell.first) absl::StrAppend(&text, "    newest: ", ToJsonLine(spell.newest), "\n");
  if (spell.vanished_ns == CauseSpell::kStays) return;
  absl::StrAppendFormat(&text, "%8.1f s  vanishes  %s\n", Seconds(spell.vanished_ns), spell.key);
}

std::string CauseText(const Verdict& verdict) {
  std::string text = absl::StrCat(Words(Name(verdict.verdict_class)), " (", Name(verdict.scope), ")");
  for (size_t i = 0; i < std::min(verdict.culprits.size(), kShownCulprits); ++i) {
    const Culprit& culprit = verdict.culprits[i];
    absl::StrAppend(&text, i == 0 ? " " : ", ", Printable(culprit.host));
    if (culprit.rank >= 0) absl::StrAppend(&text, " rank ", culprit.rank);
    if (!culprit.peer_host.empty()) absl::StrAppend(&text, " - ", Printable(culprit.peer_host));
  }
  if (verdict.culprits.size() > kShownCulprits) text += ", ...";
  return text;
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

std::string TimelineSummaryText(const ConclusionTimeline& timeline) {
  std::multimap<int64_t, std::string> lines;
  for (const StateChange& change : timeline.states()) {
    lines.emplace(change.at_ns, absl::StrCat(Name(change.state), ": ", Printable(change.note)));
  }
  for (const CauseSpell& spell : timeline.spells()) {
    lines.emplace(spell.appeared_ns, absl::StrCat("  told:      ", CauseText(spell.first)));
    if (spell.vanished_ns == CauseSpell::kStays) continue;
    lines.emplace(spell.vanished_ns, absl::StrCat("  no longer: ", CauseText(spell.newest)));
  }
  std::string text = "what would have been told, in seconds since the job's first report:\n";
  for (const auto& [at_ns, line] : lines) absl::StrAppendFormat(&text, "%8.1f s  %s\n", Seconds(at_ns), line);
  return text;
}

}  // namespace lockstep
