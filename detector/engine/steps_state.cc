#include "detector/engine/steps_state.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "detector/sentinel/pace_sentinel.h"
#include "detector/sentinel/step_pace.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/verdict.h"
#include "detector/verdict/wording.h"

namespace lockstep {
namespace {

// A job in which nothing ends for three times as long as reports are fresh (job_engine.cc) is not called healthy,
// whatever is not known of it.
constexpr int64_t kStillNs = 15 * kNanosPerSecond;

StepsState Slow(const CloseLook& look) {
  const PaceSentinel& sentinel = look.sentinel();
  const double recent = look.pace().RecentSeconds();
  if (look.accuses()) {
    return {.state = JobState::kSlow,
            .note = recent > 0 ? absl::StrCat("Steps take ", Duration(recent), ": see the verdicts.")
                               : "See the verdicts."};
  }
  return {.state = JobState::kSlow,
          .note = absl::StrFormat("Steps take %s, usually %s; %s", Duration(sentinel.level_seconds()),
                                  Duration(sentinel.usual_seconds()),
                                  look.verdicts().empty() ? "why is not known." : "see the verdicts.")};
}

StepsState NotJudged(const CloseLook& look, const BesideSteps& beside) {
  const StepPace& pace = look.pace();
  std::vector<std::string> sentences = {pace.steps() == 0 ? "No steps seen yet."
                                        : look.knows_steps()
                                            ? absl::StrCat("Steps take ", Duration(pace.RecentSeconds()), ".")
                                            : "",
                                        look.why_not_judged().has_value() ? Sentence(*look.why_not_judged()) : ""};
  sentences.insert(sentences.end(), beside.others.begin(), beside.others.end());
  return {.state = JobState::kUnknown, .note = Sentences(sentences)};
}

// Nothing was found. Who was left out may be the one that the others wait for.
StepsState Well(const CloseLook& look, const std::vector<Verdict>& remarks) {
  const std::optional<Reason>& left_out = look.left_out();
  const double median = look.pace().MedianSeconds();
  std::vector<std::string> sentences = {look.knows_steps() && median > 0
                                            ? absl::StrCat("Steps take ", Duration(median), " (median).")
                                            : "Nothing is wrong; how long steps take is not known yet."};
  for (const Verdict& remark : remarks) sentences.push_back(remark.evidence.front().text());
  if (left_out.has_value()) sentences.push_back(Sentence(*left_out));
  return {.state = left_out.has_value() ? JobState::kUnknown : JobState::kHealthy,
          .is_well = true,
          .note = Sentences(sentences)};
}

}  // namespace

StepsState StateOfSteps(const CloseLook& look, const BesideSteps& beside) {
  const StepPace& pace = look.pace();
  if (look.accuses() || (look.knows_steps() && look.sentinel().slower())) return Slow(look);
  if (look.state() != JobState::kHealthy) {
    return {.state = look.state(),
            .note = absl::StrCat(
                "Steps take ", Duration(pace.RecentSeconds()),
                look.verdicts().empty() ? ", longer than they did; why is not known." : ": see the verdicts.")};
  }
  if (!look.judged()) return NotJudged(look, beside);
  const std::vector<Verdict> remarks = look.remarks();
  const bool is_planned = std::any_of(remarks.begin(), remarks.end(), IsPlanned);
  if (look.knows_steps() && look.irregular() && !is_planned) {
    return {.state = JobState::kIrregular,
            .note = absl::StrFormat("Step times vary: median %s, longest usual %s; no rank is to blame.",
                                    Duration(pace.MedianSeconds()), Duration(pace.LongestUsualSeconds()))};
  }
  if (beside.still_ns > kStillNs) {
    return {.state = JobState::kUnknown,
            .note = absl::StrFormat("No operation of any rank has ended for %s.",
                                    Duration(static_cast<double>(beside.still_ns) / kNanosPerSecond))};
  }
  return Well(look, remarks);
}

}  // namespace lockstep
