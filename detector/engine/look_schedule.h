// When a running job is looked at: soon after something changed, ever more seldom while nothing does.
//
// The first look comes as soon as the job moves, so that a fault from the first step on is found. Each look doubles the
// distance to the next one, from kSoonNs or a step up to the calm distance. An event (steps take another time than
// before, a cause was found or lost and waits for a second look) begins anew with kSoonNs. The calm distance follows
// from the budget of bytes per machine and second that looks may cost in the long run. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_ENGINE_LOOK_SCHEDULE_H_
#define LOCKSTEP_DETECTOR_ENGINE_LOOK_SCHEDULE_H_

#include <cstddef>
#include <cstdint>

namespace lockstep {

class LookSchedule {
 public:
  // Agents answer with their next report, a second later at most: looks closer to each other see the same steps.
  static constexpr int64_t kSoonNs = 1'000'000'000;
  // By judgement, not measured; the budget of bytes below stretches them.
  static constexpr int64_t kLeastCalmNs = 60'000'000'000;
  // Budget of time: a fault that no step time shows is found within this.
  static constexpr int64_t kMostCalmNs = 600'000'000'000;
  // Of the budget of 0.5 KB per machine and second, what looks without a reason may use; the rest is for events.
  static constexpr double kCalmBytesPerSecond = 300;

  // The job moves: a first look makes sense from now on.
  void Begin(int64_t now_ns);
  void NoteEvent(int64_t now_ns, double step_seconds);

  bool Due(int64_t now_ns) const { return begun_ && now_ns >= next_ns_; }
  // A look ended that pulled `bytes` from `hosts` machines.
  void NoteLook(int64_t now_ns, double step_seconds, double bytes, size_t hosts);

  bool begun() const { return begun_; }
  void Clear() { *this = LookSchedule(); }

 private:
  bool begun_ = false;
  int64_t next_ns_ = 0;
  int64_t distance_ns_ = kSoonNs;
  int64_t ended_ns_ = 0;  // of the newest look
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_LOOK_SCHEDULE_H_
