// Whether the steps of a job take as long as they did: the job against its own past. It accuses nobody.
//
// Steps are compared with the *level*, the steps since the last change: the newest 3, 5, 8, ... 89 of them, each as its
// distance from the level's median in robust deviations (at most kMostDeviations, so that spikes of single steps do not
// count). The level has changed when such a mean is kChangedErrors standard errors away and differs by kMinShift of the
// step: gross changes show in three steps, subtle ones in as many as they need. A change asks for a look; what it is
// due to, only a look can tell. Testing several lengths of the newest past is the multi-window form of the
// cumulative-sum test (Page 1954; Lorden 1971).
//
// The first level that lasts kMinLevel steps is *usual*, and so is every later one that is as quick or quicker. A job
// is slower while its level is above the usual one by more than kMinShift. A slower level that nobody explains for
// kPatienceNs becomes usual, since a job may be made slower on purpose; one that somebody explains does not. Pure: time
// is what the caller passes. Memory: kMaxLevel steps twice. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_SENTINEL_PACE_SENTINEL_H_
#define LOCKSTEP_DETECTOR_SENTINEL_PACE_SENTINEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace lockstep {

class PaceSentinel {
 public:
  // Half of the least cost of an accusation (3 % of the step): less needs no look.
  static constexpr double kMinShift = 0.015;
  // Standard errors. Of independent normal steps, tested at nine lengths, one in some 100,000 is called a change.
  static constexpr double kChangedErrors = 5.0;
  static constexpr double kMostDeviations = 4.0;
  static constexpr size_t kMinLevel = 16;  // steps before a level can be compared with: its deviation is known to 20 %
  static constexpr size_t kMaxLevel = 512;
  static constexpr int64_t kPatienceNs = 600'000'000'000;

  // A step that took `seconds`, above 0. True when the level has changed, up or down.
  bool Observe(double seconds);

  // After the steps up to `now_ns`. `explained` = somebody knows why steps are slower.
  void Advance(int64_t now_ns, bool explained);

  bool slower() const;
  double usual_seconds() const { return usual_seconds_; }       // 0 = unknown
  double level_seconds() const;                                 // of the steps since the last change; 0 = unknown
  int64_t steps_since_change() const { return since_change_; }  // or since the first
  // Of a step, beyond the usual; 0 unless slower.
  double lost_seconds() const { return slower() ? level_seconds() - usual_seconds_ : 0; }

  void Clear() { *this = PaceSentinel(); }

 private:
  // Mean distance of the newest `count` steps from the level before them, in standard errors.
  double ErrorsFromLevel(size_t count) const;
  size_t ChangedSteps() const;  // newest steps of another level; 0 = none
  void BeginLevel(size_t newest);
  void Learn();

  std::deque<double> steps_;  // of the level, oldest first
  double median_ = 0;         // of the level, as of when it was last learnt; 0 = too few steps
  double deviation_ = 0;
  size_t learnt_ = 0;    // steps that these two are from
  size_t unlearnt_ = 0;  // steps since then
  int64_t since_change_ = 0;
  double usual_seconds_ = 0;
  bool at_usual_ = false;
  int64_t slower_since_ns_ = 0;  // 0 = it is not
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SENTINEL_PACE_SENTINEL_H_
