// What counters say of the machines of one job, from samples as they arrive: the one way by which both a recorded
// history (counter_history.h) and a running job (counter_stream.h) are judged.
//
// Samples are put on ticks (metric_raster.h). All that was known by one moment goes to the peer detector together, as
// soon as every machine has delivered what is later, or after kMostDelayMs: the moments are those of the samples' own
// clock, so that the same samples in the same order give the same answers, however late they are. Rules on error
// counters and ceilings (detector/hardware) see each sample at once. Silence is told by others that go on.
//
// One clock for all samples; those of one series must rise. Cost: O(1) per sample, O(units) per tick. Memory: 400 bytes
// per series, at most PeerOptions::max_units of them, and at most kMostCases cases; the rest is refused and counted.
// Deterministic. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_DRIVER_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "detector/counters/case_record.h"
#include "detector/counters/metric_raster.h"
#include "detector/counters/peer_detector.h"
#include "detector/hardware/event_judge.h"
#include "detector/model/sample_losses.h"

namespace lockstep {

class CounterDriver {
 public:
  // Agents report once a second and retry within one more: what comes later than this behind the newest sample of
  // others is not waited for.
  static constexpr int64_t kMostDelayMs = 2'000;

  explicit CounterDriver(const PeerOptions& options);

  struct SeriesName {
    int32_t host = -1;        // number of the caller, from 0 without large gaps
    std::string host_name;    // for findings of rules
    std::string device;       // "" = the host
    std::string metric_name;  // catalogued or not
    Metric metric = Metric::kUnspecified;
    bool compared = true;  // false = only rules look at it
  };

  // -1 = nothing of it is looked at: it is of a process, or one too many. Each name once.
  int32_t AddSeries(const SeriesName& name);
  void Observe(int32_t series, int64_t time_ms, double value);
  // No more samples come: concludes from what is there.
  void Finish();

  // Machines of equal duty are each other's peers from now on; by host, -1 = not known, empty = of none.
  void SetDuties(absl::Span<const int32_t> duty_of_host) { detector_.SetDuties(duty_of_host); }

  // Up to the newest moment about which it was concluded. Without findings of rules and areas that were not looked at.
  const CounterHistory& history() const { return record_.history(); }
  const SampleLosses& losses() const { return losses_; }
  const PeerDetector& detector() const { return detector_; }
  // What rules say now, hard ones first.
  std::vector<HardwareFinding> Findings(int64_t now_ms) const;
  // The whole of it, after Finish.
  CounterHistory TakeHistory();

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

  struct Track {
    Metric metric;
    int32_t watch = -1;
    size_t units = 0;  // known to the detector
    MetricRaster raster;
  };
  // What rules look at.
  struct Ruled {
    std::string host;
    std::string device;
    bool is_counter = false;
    bool has_moved = false;  // a counter that stands still says nothing
    int64_t newest_ms = kNone;
    double newest = 0;
  };
  struct Series {
    int32_t host = -1;
    Metric metric = Metric::kUnspecified;
    bool compared = false;
    int32_t track = -1;  // -1 = no metric that machines are compared by
    int32_t row = -1;
    int32_t ruled = -1;  // -1 = no rule is about it
  };

  void Rule(const Series& series, int64_t time_ms, double value);
  void NoteFindings(int64_t now_ms);
  void Arrive(int32_t host, int64_t time_ms);
  int64_t CompleteMs() const;
  int64_t MomentAfter(int64_t time_ms) const;
  int64_t DueMs(const Track& track) const;
  void Process(int64_t complete_ms);
  void StepDue(int64_t now_ms, int64_t complete_ms);
  void Register(const std::string& name, Track* track);
  void CountSeries();

  PeerOptions options_;
  PeerDetector detector_;
  CaseRecord record_;
  EventJudge rules_;
  SampleLosses losses_;
  std::vector<Series> series_;
  std::vector<Ruled> ruled_;
  std::vector<Track> tracks_;
  std::map<std::string, int32_t> track_of_;  // by name: the order in which they are stepped
  std::vector<int64_t> newest_ms_;           // by host; kNone = no sample yet
  int32_t hosts_ = 0;
  size_t compared_ = 0;        // series
  size_t counted_series_ = 0;  // as the detector knows them
  int32_t counted_hosts_ = 0;
  bool has_ceilings_ = false;
  bool finished_ = false;
  int64_t zero_ms_ = kNone;  // of all rasters
  int64_t now_ms_ = kNone;   // newest sample of all
  int64_t concluded_ms_ = kNone;
  int64_t moment_ms_ = 250;
  int64_t next_note_ms_ = kNone;
  std::map<std::tuple<std::string, std::string, HardwareSign, int64_t>, HistoryFinding> found_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_DRIVER_H_
