#include "detector/counters/case_record.h"

#include <algorithm>

#include "detector/counters/job_regime.h"
#include "detector/counters/pace_average.h"

namespace lockstep {
namespace {

// The longest average of a job's pace shows after so long what a machine does to it.
constexpr auto kDegradationFollowsMs = static_cast<int64_t>(1000 * PaceAverage::kLongest);

NamedSign Named(const CounterSign& sign, const PeerDetector& detector) {
  return NameSign(sign, detector.watch(sign.watch));
}

// True when the job is degraded. It takes less to believe that a machine that has just begun to stand out costs the job
// something than to look for one.
bool IsDegraded(const HistoryCase& noted, const PeerDetector& detector, int64_t now_ms) {
  const bool is_new = noted.kind == CaseKind::kAlarm && now_ms - noted.alarm_ms <= kDegradationFollowsMs;
  return detector.JobIsDegraded() || (is_new && detector.activity().SeemsSlower());
}

}  // namespace

void CaseRecord::Note(const std::vector<MachineCase>& cases, const PeerDetector& detector, int64_t now_ms) {
  if (history_.start_ms == 0) history_.start_ms = now_ms;
  history_.end_ms = now_ms;
  for (const MachineCase& found : cases) NoteCase(found, detector, now_ms);
  history_.common_cause = history_.common_cause || detector.common_signs() > 0;
  NoteReturns(detector);
  NoteShifts(detector, now_ms);
  NoteJob(detector, now_ms);
  ForgetOldest(now_ms);
}

void CaseRecord::NoteCase(const MachineCase& found, const PeerDetector& detector, int64_t now_ms) {
  const auto key = std::make_tuple(found.host, found.kind, found.since_ms);
  const auto [at, fresh] = known_.emplace(key, history_.cases.size());
  if (fresh) {
    history_.cases.push_back({.host = found.host, .kind = found.kind, .alarm_ms = now_ms});
    case_losses_.emplace_back();
  }
  HistoryCase& noted = history_.cases[at->second];
  noted.last_ms = now_ms;
  if (found.kind == CaseKind::kSilence) {
    Silence& silence = silences_.try_emplace(found.host, Silence{at->second}).first->second;
    silence.job_hung = silence.job_hung || detector.activity().stuck_since_ms() != 0;
  }
  if (IsDegraded(noted, detector, now_ms)) {
    if (!noted.job_degraded) noted.degraded_ms = now_ms;
    noted.job_degraded = true;
    JobLoss& loss = case_losses_[at->second];
    loss.Note(detector.activity().regime(), detector.activity().loss());
    noted.job_loss = loss.share();
    const bool pauses = detector.activity().regime() == kJobStands;
    history_.degraded = history_.degraded || (!pauses && noted.kind == CaseKind::kAlarm);
  }
  if (!fresh && found.score <= noted.score) return;
  if (fresh || found.onset_ms < noted.onset_ms) noted.onset_ms = found.onset_ms;
  noted.score = found.score;
  noted.signs.clear();
  for (const CounterSign& sign : found.signs) noted.signs.push_back(Named(sign, detector));
}

// A machine that reports again was not gone: what was missing were its samples. A synchronous job cannot do without a
// machine; only of one that came back while the job hung is that not known.
void CaseRecord::NoteReturns(const PeerDetector& detector) {
  std::erase_if(silences_, [&](const auto& entry) {
    const auto& [host, silence] = entry;
    HistoryCase& noted = history_.cases[silence.at];
    if (detector.LastSampleMs(host) <= noted.onset_ms) return false;
    noted.only_unseen = !silence.job_hung;
    return true;
  });
}

void CaseRecord::NoteShifts(const PeerDetector& detector, int64_t now_ms) {
  std::vector<HistoryShift>& shifts = history_.shifts;
  for (const CommonShift& shift : detector.common_shifts()) {
    const auto [at, fresh] = shift_of_way_.emplace(std::pair(shift.watch, shift.up), shifts.size());
    if (!fresh && now_ms - shifts[at->second].last_ms > kTogetherMs) at->second = shifts.size();
    if (at->second == shifts.size()) {
      shifts.push_back({.onset_ms = shift.onset_ms});
      shift_losses_.emplace_back();
    }
    HistoryShift& noted = shifts[at->second];
    noted.last_ms = now_ms;
    if (detector.JobIsDegraded()) {
      noted.job_degraded = true;
      JobLoss& loss = shift_losses_[at->second];
      loss.Note(detector.activity().regime(), detector.activity().loss());
      noted.job_loss = loss.share();
    }
    if (shift.hosts.size() >= noted.hosts.size()) noted.hosts = shift.hosts;
    if (shift.strongest.excursion.share <= noted.strongest.excursion.share) continue;
    noted.strongest = Named(shift.strongest, detector);
    noted.strongest_host = shift.strongest.host;
  }
}

void CaseRecord::NoteJob(const PeerDetector& detector, int64_t now_ms) {
  const JobActivity& activity = detector.activity();
  history_.activity_known = activity.IsKnown();
  history_.degraded_at_end = detector.JobIsDegraded();
  history_.stuck_at_end = activity.IsDegraded(now_ms) && activity.stuck_since_ms() != 0;
  if (!history_.degraded_at_end) return;
  // A pause that ends is a checkpoint or an evaluation: a healthy job has them.
  if (activity.regime() != kJobStands) history_.degraded = true;
  history_.loss = std::max(history_.loss, activity.loss());
}

// A quarter at once, so that it is rare. What still stands is kept.
void CaseRecord::ForgetOldest(int64_t now_ms) {
  if (history_.cases.size() > kMostCases) {
    std::vector<HistoryCase> kept;
    std::vector<JobLoss> kept_losses;
    std::vector<size_t> moved(history_.cases.size(), history_.cases.size());
    for (size_t i = 0; i < history_.cases.size(); ++i) {
      const bool old = i < kMostCases / 4 && history_.cases[i].last_ms < now_ms;
      if (old) continue;
      moved[i] = kept.size();
      kept.push_back(std::move(history_.cases[i]));
      kept_losses.push_back(case_losses_[i]);
    }
    forgotten_ += history_.cases.size() - kept.size();
    std::erase_if(known_, [&](const auto& entry) { return moved[entry.second] == moved.size(); });
    for (auto& [key, index] : known_) index = moved[index];
    std::erase_if(silences_, [&](const auto& entry) { return moved[entry.second.at] == moved.size(); });
    for (auto& [host, silence] : silences_) silence.at = moved[silence.at];
    history_.cases = std::move(kept);
    case_losses_ = std::move(kept_losses);
  }
  if (history_.shifts.size() <= kMostShifts) return;
  const size_t old = kMostShifts / 4;
  std::erase_if(shift_of_way_, [old](const auto& entry) { return entry.second < old; });
  for (auto& [way, index] : shift_of_way_) index -= old;
  history_.shifts.erase(history_.shifts.begin(), history_.shifts.begin() + static_cast<ptrdiff_t>(old));
  shift_losses_.erase(shift_losses_.begin(), shift_losses_.begin() + static_cast<ptrdiff_t>(old));
  forgotten_ += old;
}

}  // namespace lockstep
