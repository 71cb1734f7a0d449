#include "detector/sentinel/step_pace.h"

#include <algorithm>

#include "base/clock.h"
#include "base/median.h"
#include "detector/model/operation_kind.h"

namespace lockstep {
namespace {

// By judgement, not measured.
constexpr double kUsualShare = 0.97;
// By judgement, not measured.
constexpr double kRateSeconds = 2.0;
// Of steps that a thinned report jumps over: beyond that their mean says little about any of them.
constexpr uint64_t kMaxJump = 16;
// Another pacemaker takes over after the longer of the two without a record of the first.
constexpr int64_t kPatienceNs = 5 * kNanosPerSecond;
constexpr double kPatienceSteps = 10;
// Half way, in logarithms, to steps that are counted as two.
constexpr double kOtherUnit = 1.41;

}  // namespace

bool StepPace::Follow(const std::vector<FollowedCalls>& calls, int64_t steps, double step_seconds, int64_t now_ns) {
  // A look of which nothing can be followed says nothing against what was followed so far, and the pacemaker that
  // counts goes on counting as long as looks confirm it: by naming it, or by steps as long as those that it counts. In
  // a look that misses records of it others may count better.
  if (calls.empty()) {
    if (!follows() || now_ns - newest_ns_ > PatienceNs()) CountByLooks(steps, step_seconds, now_ns);
    return false;
  }
  const double recent = RecentSeconds();
  const bool alike = step_seconds < kOtherUnit * recent && recent < kOtherUnit * step_seconds;
  if (alike && now_ns - newest_ns_ <= PatienceNs()) return false;
  const auto counts = [this](const FollowedCalls& call) { return call.SameCalls(followed_[counting_].calls); };
  if (follows() && std::any_of(calls.begin(), calls.end(), counts)) return false;
  followed_.clear();
  for (const FollowedCalls& call : calls) followed_.push_back({.calls = call, .sequence = call.counted_to});
  counting_ = 0;
  step_seconds_.clear();
  new_.clear();
  steps_ = steps;
  look_ns_ = 0;
  look_steps_ = 0;
  return true;
}

void StepPace::CountByLooks(int64_t steps, double step_seconds, int64_t now_ns) {
  if (step_seconds <= 0) return;
  const int64_t counted_ns = std::max(look_ns_, newest_ns_);
  if (counted_ns == 0) {
    steps_ = steps;
  } else {
    look_steps_ += static_cast<double>(now_ns - counted_ns) / kNanosPerSecond / step_seconds;
    const auto whole = static_cast<int64_t>(look_steps_);
    steps_ += whole;
    look_steps_ -= static_cast<double>(whole);
  }
  look_ns_ = now_ns;
  step_seconds_.assign(1, step_seconds);
}

int64_t StepPace::PatienceNs() const {
  return std::max(kPatienceNs, static_cast<int64_t>(kPatienceSteps * RecentSeconds() * kNanosPerSecond));
}

bool StepPace::MayCount(const Follower& follower, int64_t received_ns) const {
  const Follower& now = followed_[counting_];
  return &follower == &now || received_ns - now.received_ns > PatienceNs();
}

void StepPace::Observe(int32_t rank, const CommunicatorView& view, int64_t received_ns) {
  for (size_t i = 0; i < followed_.size(); ++i) {
    Follower& follower = followed_[i];
    if (follower.calls.rank != rank || follower.calls.communicator != view.id || view.operations.empty()) continue;
    if (followed_[counting_].received_ns == 0 && i != counting_) followed_[counting_].received_ns = received_ns;
    if (MayCount(follower, received_ns)) counting_ = i;
    follower.received_ns = received_ns;
    std::vector<Call> calls;
    for (const Operation& operation : view.operations) {
      if (!IsSendOrRecv(operation.kind)) calls.push_back({operation.sequence, operation.end_ns});
    }
    std::sort(calls.begin(), calls.end());
    for (const Call& call : calls) Feed(call, received_ns, i == counting_, &follower);
  }
}

void StepPace::Feed(const Call& call, int64_t received_ns, bool counts, Follower* follower) {
  const uint64_t per_step = follower->calls.operations_per_step;
  const bool first = follower->sequence == 0;
  if (!first && call.sequence < follower->sequence + per_step) return;
  const uint64_t passed = first ? 0 : call.sequence - follower->sequence;
  const uint64_t steps = passed / per_step;
  if (!first && passed % per_step != 0 && steps < kMaxJump) return;  // a later one may be a whole number of steps away
  const int64_t passed_ns = follower->end_ns == 0 ? 0 : call.end_ns - follower->end_ns;
  follower->sequence = call.sequence;
  follower->end_ns = call.end_ns;
  if (first || !counts) return;
  steps_ += static_cast<int64_t>(steps);
  newest_ns_ = received_ns;
  if (steps > kMaxJump || passed % per_step != 0 || passed_ns <= 0) return;
  const double seconds = static_cast<double>(passed_ns) / kNanosPerSecond / static_cast<double>(steps);
  step_seconds_.push_back(seconds);
  if (step_seconds_.size() > kKeptSteps) step_seconds_.pop_front();
  if (new_.size() < kKeptSteps) new_.push_back(seconds);
}

std::vector<double> StepPace::TakeNew() {
  std::vector<double> taken;
  taken.swap(new_);
  return taken;
}

double StepPace::Quantile(double share) const {
  if (step_seconds_.empty()) return 0;
  std::vector<double> sorted(step_seconds_.begin(), step_seconds_.end());
  const auto place = std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())));
  return ElementAt(place, &sorted);
}

double StepPace::MedianSeconds() const { return Quantile(0.5); }

double StepPace::LongestUsualSeconds() const { return Quantile(kUsualShare); }

double StepPace::RecentSeconds() const {
  if (step_seconds_.empty()) return 0;
  const size_t count = std::min(step_seconds_.size(), kRecentSteps);
  std::vector<double> recent(step_seconds_.end() - static_cast<int64_t>(count), step_seconds_.end());
  return UpperMedian(&recent);
}

double StepPace::StepsPerSecond() const {
  double seconds = 0;
  int steps = 0;
  for (auto step = step_seconds_.rbegin(); step != step_seconds_.rend() && (seconds < kRateSeconds || steps < 2);
       ++step, ++steps) {
    seconds += *step;
  }
  return seconds > 0 ? steps / seconds : 0;
}

void StepPace::Clear() { *this = StepPace(); }

}  // namespace lockstep
