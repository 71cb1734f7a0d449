#include "detector/slow/hidden_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/shares.h"
#include "detector/stats/even_places.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/kinds_of_calls.h"
#include "detector/steps/peer_sample.h"
#include "detector/steps/work_moment.h"

namespace lockstep {
namespace {

// A median of fewer is one odd step's; of more, no better than the noise of the steps.
constexpr size_t kSampledSteps = 16;

// A call of a step: its kind, and which of its kind.
using Place = std::pair<size_t, uint32_t>;
// Kinds of two calls: the work before the second goes on beside the first.
using KindPairs = std::set<std::pair<size_t, size_t>>;

// Some calls of one place, of one rank or of peers.
struct Calls {
  size_t count = 0;
  size_t in_line = 0;
  std::map<Place, size_t> after;       // what own time counts from
  std::map<Place, size_t> work_after;  // what the work before it began with
  std::vector<double> own;             // seconds
  std::vector<double> work;            // and what of it went on beside operations

  bool IsInLine() const { return static_cast<double>(in_line) > kMainPart * static_cast<double>(count); }
};

Place MostOften(const std::map<Place, size_t>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

using CallsByPlace = std::map<Place, Calls>;

class HiddenWork {
 public:
  HiddenWork(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes)
      : analysis_(analysis), suspected_(analysis.trace->ranks.size(), 0) {
    for (const SlowCause& cause : causes) {
      for (const Suspect& suspect : cause.suspects) suspected_[static_cast<size_t>(suspect.rank)] = 1;
    }
  }

  // Of a suspect's own work, the share that a healthy rank would need; 0 = nothing is known.
  double NeededShare(const Suspect& suspect, SlowKind kind) {
    const auto rank = static_cast<size_t>(suspect.rank);
    const std::vector<uint32_t> places = PlacesOf(rank);
    const KindPairs beside = FindBeside(suspect, places);
    if (beside.empty()) return 0;
    const CallsByPlace& usual = CallsOfPeers(suspect, beside);
    CallsByPlace own;
    AddCalls(rank, places, suspect, beside, &own);
    double own_seconds = 0, excess = 0, seen = 0, usual_seen = 0, all_work = 0;
    std::vector<std::pair<double, double>> hidden;  // own time, work
    const auto steps = static_cast<double>(StepsOf(rank, suspect).size());
    for (const auto& [place, calls] : own) {
      const double often = static_cast<double>(calls.count) / steps;  // what comes in few steps is little of each
      const double seconds = often * MedianOf(calls.own), work = often * MedianOf(calls.work);
      own_seconds += seconds;
      all_work += work;
      const auto known = usual.find(place);
      const Work of_peers = known == usual.end() ? Work{} : SeenWork(calls, known->second);
      if (of_peers.seconds < 0) {
        hidden.emplace_back(seconds, work);
        continue;
      }
      const double of_rank = of_peers.goes_on_beside ? work : seconds;
      seen += of_rank;
      usual_seen += often * of_peers.seconds;
      excess += std::min(seconds, of_rank - often * of_peers.seconds);
    }
    if (seen <= usual_seen || seen < kFew * all_work || own_seconds <= 0) return 0;
    const double less = kind == SlowKind::kInput ? 0 : 1 - usual_seen / seen;
    for (const auto& [seconds, work] : hidden) excess += std::min(seconds, less * work);
    return 1 - excess / own_seconds;
  }

 private:
  const OwnInterval& IntervalOf(uint32_t i) const { return analysis_.times.before[i]; }
  const TraceOperation& OperationOf(uint32_t i) const { return analysis_.trace->operations[i]; }
  size_t KindOfCall(uint32_t i) const { return KindOf(analysis_.roles, OperationOf(i)); }
  bool IsKnown(uint32_t i) const { return IntervalOf(i).seconds >= 0 && !IntervalOf(i).routed; }

  static double MedianOf(std::vector<double> values) { return MedianInPlace(&values); }

  // Of peers at a place.
  struct Work {
    double seconds = -1;  // -1 = not seen, or not like the rank's
    bool goes_on_beside = false;
  };

  // Seen where neither stands in line and the work of both began with the same call. Whether that went on beside others
  // is said by what varies less, if that is alike: the length of a step, which all share, varies little as well.
  static Work SeenWork(const Calls& own, const Calls& usual) {
    if (own.IsInLine() || usual.IsInLine()) return {};
    const bool alike = MostOften(own.after) == MostOften(usual.after);
    const bool alike_beside = MostOften(own.work_after) == MostOften(usual.work_after);
    const bool beside = alike_beside && (!alike || Deviation(usual.work) < Deviation(usual.own));
    if (!alike && !beside) return {};
    return {.seconds = MedianOf(beside ? usual.work : usual.own), .goes_on_beside = beside};
  }

  static double Deviation(std::vector<double> values) {
    const double center = MedianInPlace(&values);
    return SigmaInPlace(&values, center);
  }

  bool IsInLine(uint32_t i) const {
    const OwnInterval& interval = IntervalOf(i);
    return interval.seconds >= 0 && interval.after_end && StoodBehind(OperationOf(interval.after), OperationOf(i));
  }

  // Whole ones of the rank in the stretch.
  std::vector<int32_t> StepsOf(size_t rank, const Suspect& suspect) const {
    std::vector<int32_t> steps;
    for (int32_t step = suspect.first_step; step <= suspect.last_step; ++step) {
      const bool usual = analysis_.steps.usual[static_cast<size_t>(step)] != 0;
      if (usual && analysis_.steps.Of(rank, step).complete) steps.push_back(step);
    }
    std::vector<int32_t> sample;
    for (const size_t at : EvenPlaces(steps.size(), kSampledSteps)) sample.push_back(steps[at]);
    return sample;
  }

  std::vector<size_t> SomePeers(const Suspect& suspect) const {
    std::vector<size_t> peers;
    for (const int32_t fellow : analysis_.PeersByWaitingOf(static_cast<size_t>(suspect.rank))) {
      const auto rank = static_cast<size_t>(fellow);
      if (suspected_[rank] == 0 && analysis_.without_begins[rank] == 0) peers.push_back(rank);
    }
    std::vector<size_t> some;
    for (const size_t at : EvenPlaces(peers.size(), kSampledPeers)) some.push_back(peers[at]);
    return some;
  }

  // With what the work before call `i` began, by what is known to go on beside it, and for how long it lasted.
  std::pair<uint32_t, double> WorkBefore(uint32_t i, const KindPairs& beside) const {
    auto seconds = static_cast<double>(IntervalOf(i).seconds);
    uint32_t after = IntervalOf(i).after;
    for (uint32_t call = i; IntervalOf(call).after_end && beside.contains({KindOfCall(after), KindOfCall(i)});) {
      seconds += ToSeconds(OperationOf(after).duration_ns());
      if (!IsInLine(after)) break;
      call = after;
      after = IntervalOf(call).after;
    }
    return {after, seconds};
  }

  // Calls `visit` with each call of the rank's sampled steps of which its own time is known, and its place.
  void Visit(size_t rank, const std::vector<uint32_t>& places, const Suspect& suspect,
             absl::FunctionRef<void(uint32_t call, const Place& place)> visit) const {
    for (const int32_t step : StepsOf(rank, suspect)) {
      const StepRange& range = analysis_.steps.Of(rank, step);
      for (uint32_t i = range.begin; i < range.end; ++i) {
        if (IsKnown(i)) visit(i, {KindOfCall(i), places[i - analysis_.trace->first_operation[rank]]});
      }
    }
  }

  std::vector<uint32_t> PlacesOf(size_t rank) const {
    return PlacesOfCalls(*analysis_.trace, analysis_.roles, analysis_.steps, rank, [](int32_t) { return true; });
  }

  void AddCalls(size_t rank, const std::vector<uint32_t>& places, const Suspect& suspect, const KindPairs& beside,
                CallsByPlace* calls) const {
    const auto place_of = [&](uint32_t call) {
      return Place(KindOfCall(call), places[call - analysis_.trace->first_operation[rank]]);
    };
    const auto add = [&](uint32_t call, const Place& place) {
      const auto [after, work] = WorkBefore(call, beside);
      Calls& of_place = (*calls)[place];
      ++of_place.count;
      of_place.in_line += IsInLine(call) ? 1 : 0;
      ++of_place.after[place_of(IntervalOf(call).after)];
      ++of_place.work_after[place_of(after)];
      of_place.own.push_back(static_cast<double>(IntervalOf(call).seconds));
      of_place.work.push_back(work);
    };
    Visit(rank, places, suspect, add);
  }

  const CallsByPlace& CallsOfPeers(const Suspect& suspect, const KindPairs& beside) {
    const int32_t peers = analysis_.roles.class_of_rank[static_cast<size_t>(suspect.rank)];
    const auto [known, is_new] = of_peers_.try_emplace({peers, suspect.first_step, suspect.last_step, beside});
    if (is_new) {
      for (const size_t rank : SomePeers(suspect)) AddCalls(rank, PlacesOf(rank), suspect, beside, &known->second);
    }
    return known->second;
  }

  // Where peers stand in line and the suspect does not, the work goes on beside what they stand behind.
  KindPairs FindBeside(const Suspect& suspect, const std::vector<uint32_t>& places) {
    const auto rank = static_cast<size_t>(suspect.rank);
    CallsByPlace own;
    AddCalls(rank, places, suspect, {}, &own);
    const CallsByPlace& usual = CallsOfPeers(suspect, {});
    KindPairs beside;
    const auto look_at = [&](uint32_t i, const Place& place) {
      if (!IntervalOf(i).after_end || IsInLine(i) || own.at(place).IsInLine()) return;
      const auto known = usual.find(place);
      if (known == usual.end() || !known->second.IsInLine()) return;
      for (uint32_t call = i; IntervalOf(call).after_end;) {
        call = IntervalOf(call).after;
        beside.emplace(KindOfCall(call), place.first);
        if (!IsInLine(call)) break;
      }
    };
    Visit(rank, places, suspect, look_at);
    return beside;
  }

  const TraceAnalysis& analysis_;
  std::vector<char> suspected_;
  // By class, stretch and what is known to go on beside the work.
  std::map<std::tuple<int32_t, int32_t, int32_t, KindPairs>, CallsByPlace> of_peers_;
};

}  // namespace

void TellHiddenWork(const TraceAnalysis& analysis, std::vector<SlowCause>* causes) {
  HiddenWork hidden(analysis, *causes);
  for (SlowCause& cause : *causes) {
    const Suspect& strongest = cause.suspects.front();
    if (strongest.in_some_steps() || strongest.against_past) continue;
    const double share = hidden.NeededShare(strongest, cause.kind);
    for (Suspect& suspect : cause.suspects) suspect.needed_seconds = share * suspect.own_seconds;
  }
}

}  // namespace lockstep
