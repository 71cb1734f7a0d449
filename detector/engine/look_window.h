// How far back a look goes, and whether the steps that it finds are to be believed.
//
// A window of less than a few steps shows micro-batches and takes them for steps; a window chosen by such steps would
// be shorter still. So the length of windows follows from the communicator that is used least (sentinel/call_gaps.h)
// until steps are found in one that shows several of its calls. A step makes all calls that recur: one much shorter
// than the period of the rarest is believed only of a window that showed many of these, which then are no part of it
// (checkpoints); or of looks that found it the same for a while. When a rarer communicator comes into use, it begins
// anew. From then on a window holds kLeastSteps steps, and more where they cost a host little. When a look finds steps
// twice as long as those that pacemakers count, these are micro-batches, and nothing is believed until a longer window
// has been seen. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_ENGINE_LOOK_WINDOW_H_
#define LOCKSTEP_DETECTOR_ENGINE_LOOK_WINDOW_H_

#include <cstdint>

#include "detector/model/input.h"
#include "detector/model/roster.h"
#include "detector/sentinel/call_gaps.h"

namespace lockstep {

class LookWindow {
 public:
  // Enough to know a rank's own past besides the four steps that an accusation takes.
  static constexpr double kLeastSteps = 16;
  // What is over has to leave the window soon; and an onset further back cannot be seen.
  static constexpr double kMostSteps = 64;
  // Unless these are shorter, for twice that time: steps that are believed by mistake are seen through by what is
  // longer. By judgement, not measured: some steps of most jobs.
  static constexpr double kRevealingSeconds = 20;
  // Budget of bytes of one look, which spaces looks without a reason three minutes apart (look_schedule.h). On tuning
  // numbers twice as many bytes found nothing more.
  static constexpr double kBytesPerHost = 50'000;
  // A window of fewer calls of the rarest communicator cannot tell a step from a micro-batch: of two calls nobody
  // knows whether they recur.
  static constexpr double kLeastCalls = 3;
  // Of a period that is longer than two steps, so many must have been seen.
  static constexpr double kManyCalls = 8;
  static constexpr double kWholeStep = 0.5;
  // What looks find alike is believed when the job has been watched for twice as long, or for so many steps more, and
  // the newest saw so many of them: windows grow with time, and what is longer shows in them.
  static constexpr double kManySteps = 8;
  // Where not even that fits into a look, this share of what fits has to do.
  static constexpr double kSureShare = 0.8;
  // Steps of a look that are longer or shorter by this factor than those that are believed are no steps.
  static constexpr double kOtherStep = 2;

  // As CallGaps.
  void Observe(int32_t communicator_slot, int32_t rank, const CommunicatorView& view, int64_t host_ns,
               int64_t received_ns) {
    gaps_.Observe(communicator_slot, rank, view, host_ns, received_ns);
  }

  // The window of the next look. `step_seconds`: of the newest steps, 0 = unknown. `steps_to_see`: that it had better
  // hold, as far as kMostSteps reach.
  int64_t Choose(const Roster& roster, double step_seconds, int64_t steps_to_see = 0);

  // A look over that window found steps of this median length. False: they are not to be believed, nor what was found
  // on their strength.
  bool Take(double found_step_seconds, double step_seconds);

  bool believes_steps(double step_seconds) const;
  // Not shorter than steps that looks have found alike for long enough: nobody is to be blamed for less than a step.
  bool is_sure_of(double step_seconds) const {
    return least_step_seconds_ > 0 && kOtherStep * step_seconds > least_step_seconds_;
  }

  // From one call of the rarest communicator to the next, as of the newest look; 0 = unknown. About a step, or more.
  double rarest_seconds() const { return rarest_.period_seconds; }
  void Clear() { *this = LookWindow(); }

 private:
  void Doubt(double longer_step_seconds);
  bool Suffices(double step_seconds, double window_seconds) const;
  static bool Alike(double step_seconds, double other_seconds);
  void NoteFound(double found_step_seconds);

  CallGaps gaps_;
  RarestCalls rarest_;                  // as of the newest look
  double most_seconds_ = 0;             // of time whose operations fit into a look
  double window_seconds_ = 0;           // of the newest look
  double found_seconds_ = 0;            // a step, as the newest look that was believed found it
  double believed_window_seconds_ = 0;  // the longest window that showed steps, without what was another phase
  double contradicted_seconds_ = 0;     // a step that was longer than those believed; 0 = none since
  double alike_seconds_ = 0;            // a step as looks have found it since ...
  double alike_from_seconds_ = 0;       // ... the job had been watched for so long
  double alike_rarest_seconds_ = 0;     // when the rarest communicator recurred as it does
  double least_step_seconds_ = 0;       // the newest of these that was, even if longer ones were found since
  double sure_seconds_ = 0;             // a step that looks have found alike for long enough
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_LOOK_WINDOW_H_
