#include "detector/verdict/pattern_reasons.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "detector/verdict/wording.h"

namespace lockstep {

std::string Sentence(const WorkTakesLonger& reason) {
  if (reason.ranks.empty()) {
    const std::string who = reason.compared == 1
                                ? "The rank that was profiled waits"
                                : absl::StrCat("All ", reason.compared, " ranks that were profiled wait");
    return absl::StrFormat("%s for %s in %.1f%% of the time (median); at most %.0f%% is expected.", who, reason.work,
                           100 * reason.share, 100 * reason.usual_share);
  }
  const uint64_t peers = reason.compared > reason.ranks.size() ? reason.compared - reason.ranks.size() : 0;
  std::string text = absl::StrFormat("%s wait%s for %s in %.1f%% of the time, the %d others of equal duty in %.1f%%",
                                     Capitalized(Text(reason.ranks)), reason.ranks.size() == 1 ? "s" : "", reason.work,
                                     100 * reason.share, peers, 100 * reason.usual_share);
  if (peers < 2) return absl::StrCat(text, " (median).");
  return absl::StrFormat(
      "%s (median): a distance of %.1f in units of the scatter, where %.1f is the most that counts "
      "as usual.",
      text, reason.distance, reason.threshold);
}

std::string Sentence(const FunctionTakesLonger& reason) {
  std::string text =
      absl::StrFormat("%s (%s) takes %.1f%%: %s a call, %.4g calls per second", reason.function, reason.kind,
                      100 * reason.share, Duration(reason.mean_seconds), reason.calls_per_second);
  if (!reason.has_peers) return absl::StrCat(text, ".");
  if (reason.usual_calls_per_second <= 0) return absl::StrCat(text, "; the others do not call it, or hardly.");
  return absl::StrFormat("%s; on the others %.1f%%: %s a call, %.4g calls per second.", text, 100 * reason.usual_share,
                         Duration(reason.usual_mean_seconds), reason.usual_calls_per_second);
}

std::string Sentence(const ProfilesAlike& reason) {
  std::string text = absl::StrCat("The profiles of ", reason.ranks, " rank", reason.ranks == 1 ? "" : "s",
                                  " show no function that takes more time than is expected");
  if (reason.largest_duty < 2) {
    absl::StrAppend(&text, "; no two of them are of equal duty, so that they could not be compared with each other");
  } else {
    absl::StrAppend(&text, ", or than on ranks of equal duty (", reason.duties, reason.duties == 1 ? " kind" : " kinds",
                    " of ranks)");
  }
  return absl::StrFormat("%s. In %.1f%% of the time nothing ran that the profiler sees.", text, 100 * reason.idle);
}

std::string Sentence(const ProfilesLeftOut& reason) {
  std::vector<std::string> parts;
  if (reason.rows > 0) {
    parts.push_back(
        absl::StrCat(reason.rows, " functions of ranks, beyond the first ", reason.functions, " names of the job"));
  }
  if (reason.repeated > 0) {
    parts.push_back(absl::StrCat(reason.repeated, " further profile", reason.repeated == 1 ? "" : "s",
                                 " of ranks that had one already"));
  }
  return absl::StrCat("Left out of the comparison: ", absl::StrJoin(parts, "; "), ".");
}

}  // namespace lockstep
