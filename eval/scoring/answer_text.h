// A job report in one line, for lists of episodes. Pure.

#ifndef LOCKSTEP_EVAL_SCORING_ANSWER_TEXT_H_
#define LOCKSTEP_EVAL_SCORING_ANSWER_TEXT_H_

#include <string>

#include "detector/verdict/job_report.h"

namespace lockstep {

// The state and the first verdicts, each with its first culprits.
std::string AnswerText(const JobReport& report);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SCORING_ANSWER_TEXT_H_
