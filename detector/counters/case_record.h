// What the peer detector said from moment to moment, put together to cases: one per machine and time in which it stood
// out, with when the job was degraded meanwhile.
//
// At most kMostCases cases and kMostShifts shifts are kept: beyond, those that ended first go, and are counted. Not
// thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_CASE_RECORD_H_
#define LOCKSTEP_DETECTOR_COUNTERS_CASE_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "detector/counters/job_loss.h"
#include "detector/counters/named_sign.h"
#include "detector/counters/peer_detector.h"
#include "detector/hardware/event_judge.h"
#include "detector/model/sample_losses.h"

namespace lockstep {

struct HistoryCase {
  int32_t host = -1;
  CaseKind kind = CaseKind::kAlarm;
  double score = 0;
  int64_t onset_ms = 0;
  int64_t alarm_ms = 0;  // when it was first known
  int64_t last_ms = 0;   // when it last held
  // While it held the job was degraded, or, of an alarm that had just been raised, seemed slower.
  bool job_degraded = false;
  int64_t degraded_ms = 0;  // when both were first known
  // Of silence: samples of the machine came again, and the job did not stand still for want of it meanwhile.
  bool only_unseen = false;
  double job_loss = 0;           // while the job was degraded; see JobLoss
  std::vector<NamedSign> signs;  // as of the moment at which the evidence was strongest

  // What the whole of it says; a running job is told what is known at the time.
  bool MayAccuse() const { return kind != CaseKind::kSoft && job_degraded && !only_unseen; }
};

// So many machines went the same way that they have a common cause; none of them is among the cases for it.
struct HistoryShift {
  std::vector<int32_t> hosts;  // when they were the most
  NamedSign strongest;
  int32_t strongest_host = -1;
  int64_t onset_ms = 0;
  int64_t last_ms = 0;
  bool job_degraded = false;
  double job_loss = 0;
};

struct HistoryFinding {
  HardwareFinding finding;
  int32_t host = -1;
  int64_t first_ms = 0;
};

struct CounterHistory {
  std::vector<HistoryCase> cases;        // by alarm_ms, then host
  std::vector<HistoryShift> shifts;      // in the order in which they were seen
  std::vector<HistoryFinding> findings;  // of rules, by first_ms
  SampleLosses losses;
  std::vector<std::string> not_looked_at;  // areas of metrics that the history does not hold, by name
  int32_t machines = 0;                    // that could be compared
  bool activity_known = false;             // whether "the job is degraded" could be told at all
  // The job was, or seemed to be while a machine stood out, at least once, beside pauses that ended.
  bool degraded = false;
  bool degraded_at_end = false;
  bool stuck_at_end = false;  // everything stands while GPUs are busy
  double loss = 0;            // largest while it was degraded
  bool common_cause = false;  // signs were set aside because too many machines showed them at once
  int64_t start_ms = 0;
  int64_t end_ms = 0;
};

class CaseRecord {
 public:
  // A machine has two to four loads of its own a day, so that this is a day of 5,000 machines; 40 MB at most.
  static constexpr size_t kMostCases = 20'000;
  // Bound of memory.
  static constexpr size_t kMostShifts = 1'000;

  // What `cases` say, the answer of Conclude(now_ms). `now_ms` must not decrease.
  void Note(const std::vector<MachineCase>& cases, const PeerDetector& detector, int64_t now_ms);

  const CounterHistory& history() const { return history_; }
  CounterHistory Take() { return std::move(history_); }
  uint64_t forgotten() const { return forgotten_; }  // cases and shifts beyond the limits

 private:
  void NoteCase(const MachineCase& found, const PeerDetector& detector, int64_t now_ms);
  void NoteReturns(const PeerDetector& detector);
  void NoteShifts(const PeerDetector& detector, int64_t now_ms);
  void NoteJob(const PeerDetector& detector, int64_t now_ms);
  void ForgetOldest(int64_t now_ms);

  CounterHistory history_;
  std::vector<JobLoss> case_losses_;                                // of cases
  std::vector<JobLoss> shift_losses_;                               // and of shifts
  std::map<std::tuple<int32_t, CaseKind, int64_t>, size_t> known_;  // by host, kind and since when: into cases
  std::map<std::pair<int32_t, bool>, size_t> shift_of_way_;         // the newest of each way: into shifts
  // Machines that are silent: the case, and whether the job hung meanwhile.
  struct Silence {
    size_t at = 0;
    bool job_hung = false;
  };
  std::map<int32_t, Silence> silences_;  // by host
  uint64_t forgotten_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_CASE_RECORD_H_
