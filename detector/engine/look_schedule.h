// When a running job is looked at: soon after something changed, ever more seldom while nothing does.
//
// The first look comes as soon as the job moves, so that a fault from the first step on is found. The distance to the
// next one is a share of the time since the newest event (the job began to move, steps take another time than before, a
// cause was found or lost and waits for a second look), from kSoonNs or a step up to the calm distance. Once looks can
// judge and a sentinel tells when steps change, it is all of that time: distances double. Before that, and while what
// was found may have ended unseen, it is a small share: what is to come shows in looks alone. The calm distance follows
// from the budget of bytes per machine and second that looks may cost in the long run. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_ENGINE_LOOK_SCHEDULE_H_
#define LOCKSTEP_DETECTOR_ENGINE_LOOK_SCHEDULE_H_

#include <cstddef>
#include <cstdint>

namespace lockstep {

class LookSchedule {
 public:
  // From the begin of one look to that of the next. Agents answer with their next report, a second later at most: looks
  // closer to each other see the same steps.
  static constexpr int64_t kSoonNs = 1'000'000'000;
  // By judgement, not measured; the budget of bytes below stretches them.
  static constexpr int64_t kLeastCalmNs = 60'000'000'000;
  // Budget of time: a fault that no step time shows is found within this.
  static constexpr int64_t kMostCalmNs = 600'000'000'000;
  // Of the budget of 0.5 KB per machine and second, what looks without a reason may use; the rest is for events.
  static constexpr double kCalmBytesPerSecond = 300;

  // While only looks can tell: what shows in one is seen late by a tenth of the time watched, on average.
  static constexpr double kUnguardedShare = 0.2;

  // The job moves: a first look makes sense from now on.
  void Begin(int64_t now_ns);
  void NoteEvent(int64_t now_ns, double step_seconds);

  bool Due(int64_t now_ns) const { return begun() && now_ns >= next_ns_; }
  // A look begins.
  void NoteBegin(int64_t now_ns) { look_ns_ = now_ns; }
  // A look ended that pulled `bytes` from `hosts` machines. `guarded`: it could judge, and what comes next will be an
  // event.
  void NoteLook(int64_t now_ns, bool guarded, double step_seconds, double bytes, size_t hosts);

  bool begun() const { return begun_ns_ >= 0; }
  int64_t begun_ns() const { return begun_ns_; }  // -1 = not yet
  int64_t look_ns() const { return look_ns_; }    // begin of the newest look; 0 = there was none
  void Clear() { *this = LookSchedule(); }

 private:
  int64_t begun_ns_ = -1;
  int64_t next_ns_ = 0;
  int64_t event_ns_ = 0;  // the newest one
  int64_t look_ns_ = 0;   // begin of the newest look
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_LOOK_SCHEDULE_H_
