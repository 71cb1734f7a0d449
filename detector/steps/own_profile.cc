#include "detector/steps/own_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/shares.h"
#include "detector/model/place_in_group.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/expert_work.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
// With more peers, leaving oneself out moves a median by less than a sixteenth of their spread.
constexpr size_t kExactReference = 32;
// Share of the operations of a step whose own time is known: the majority.
constexpr double kMinKnown = kMainPart;
// Of the own time, in the longest interval: where single intervals of the typical peer weigh more, an unknown one
// cannot be guessed from the others.
constexpr double kMostInOneInterval = kFew;
// A step of so many times the operations of its peers', or of so many times fewer. By judgement, not measured.
constexpr double kOtherLength = 1.3;
// On other hosts, at the same place of their expert groups: of fewer, one that is slow moves the middle.
constexpr size_t kMinFellows = 3;
// Share of the work that lies apart from that between AllToAlls, and stands for it.
constexpr double kMinApart = kMinorPart;

// Own intervals of a rank in a step. What a host does and what its GPU does may lie at the same moment: it counts once.
class Intervals {
 public:
  void Clear() {
    spans_.clear();
    seconds_ = 0;
  }

  void Add(double seconds, int64_t until_ns) {
    seconds_ += seconds;
    if (seconds > 0) spans_.emplace_back(until_ns - static_cast<int64_t>(seconds * kNanosPerSecond), until_ns);
  }

  double SecondsOnce() {
    if (!std::is_sorted(spans_.begin(), spans_.end())) std::sort(spans_.begin(), spans_.end());
    int64_t twice_ns = 0, until_ns = std::numeric_limits<int64_t>::min();
    for (const auto& [from_ns, to_ns] : spans_) {
      if (until_ns > from_ns) twice_ns += std::min(until_ns, to_ns) - from_ns;
      until_ns = std::max(until_ns, to_ns);
    }
    return seconds_ - ToSeconds(twice_ns);
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> spans_;  // from, to
  double seconds_ = 0;
};

// The host called the operation only just when it began: the host was behind, not ahead. `own_seconds`: before it.
bool IsJustIssued(const TraceOperation& operation, double own_seconds) {
  return ToSeconds(operation.start_ns - operation.enqueue_ns) < kFew * own_seconds;
}

struct StepSums {
  Intervals all, routed;
};

void SumStep(const Trace& trace, const StepRange& range, const OwnTimes& times, size_t at, OwnProfile* profile,
             StepSums* sums) {
  sums->all.Clear();
  sums->routed.Clear();
  double host_bound = 0, largest = 0;
  uint32_t known = 0, largest_before = kNoOperation;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const OwnInterval& interval = times.before[i];
    if (interval.seconds < 0) continue;
    ++known;
    const auto seconds = static_cast<double>(interval.seconds);
    const TraceOperation& operation = trace.operations[i];
    sums->all.Add(seconds, operation.start_ns);
    if (IsJustIssued(operation, seconds)) host_bound += seconds;
    if (interval.routed) {
      sums->routed.Add(seconds, operation.start_ns);
      continue;
    }
    if (seconds <= largest) continue;
    largest = seconds;
    largest_before = i;
  }
  const uint32_t all = range.end - range.begin;
  if (known < kMinKnown * all) return;
  // Unknown intervals are taken to be like the others.
  const double scale = static_cast<double>(all) / known;
  profile->guess_scale[at] = static_cast<float>(scale);
  const double own = sums->all.SecondsOnce(), routed = sums->routed.SecondsOnce();
  profile->own[at] = static_cast<float>(own * scale);
  profile->shared[at] = static_cast<float>((own - routed) * scale);
  profile->host_bound[at] = static_cast<float>(host_bound * scale);
  profile->largest[at] = static_cast<float>(largest);
  profile->largest_before[at] = largest_before;
}

void SumSteps(const Trace& trace, size_t rank, const StepTable& steps, const OwnTimes& times, OwnProfile* profile) {
  StepSums sums;
  for (int32_t step = 0; step < steps.steps; ++step) {
    const StepRange& range = steps.Of(rank, step);
    if (range.empty() || !range.complete || steps.usual[static_cast<size_t>(step)] == 0) continue;
    SumStep(trace, range, times, rank * profile->steps + static_cast<size_t>(step), profile, &sums);
  }
}

void Forget(size_t at, OwnProfile* profile) {
  profile->own[at] = profile->shared[at] = profile->host_bound[at] = profile->largest[at] = kUnknown;
}

// Peers do the same work in the same number of operations. Who does not has been counted by another measure (its steps
// were found in another way, its records are lost), or does not do the same: it is compared with nobody.
void ForgetOtherLengths(const std::vector<int32_t>& peers, const StepTable& steps, OwnProfile* profile) {
  std::vector<double> lengths;
  for (int32_t step = 0; step < steps.steps; ++step) {
    const auto length_of = [&](int32_t peer) {
      const StepRange& range = steps.Of(static_cast<size_t>(peer), step);
      return static_cast<double>(range.end - range.begin);
    };
    lengths.clear();
    for (const int32_t peer : peers) {
      if (steps.Of(static_cast<size_t>(peer), step).complete) lengths.push_back(length_of(peer));
    }
    const double usual = MedianInPlace(&lengths);
    for (const int32_t peer : peers) {
      const double length = length_of(peer);
      if (length <= kOtherLength * usual && usual <= kOtherLength * length) continue;
      Forget(static_cast<size_t>(peer) * profile->steps + static_cast<size_t>(step), profile);
    }
  }
}

// Of a rank that exceeds its quicker peers even without what was guessed, so much is sure. Nothing is said of the
// others, but they count among the peers: they must not be fewer because of lost records.
void DistrustPoorGuesses(const std::vector<int32_t>& peers, size_t step, OwnProfile* profile) {
  const auto at = [&](int32_t peer) { return static_cast<size_t>(peer) * profile->steps + step; };
  std::vector<double> weights, complete;
  bool any = false;
  for (const int32_t peer : peers) {
    const float own = profile->own[at(peer)];
    if (!(own > 0)) continue;
    any |= profile->guess_scale[at(peer)] > 1;
    weights.push_back(static_cast<double>(profile->largest[at(peer)] / own));
    if (profile->guess_scale[at(peer)] <= 1) complete.push_back(static_cast<double>(own));
  }
  if (!any || MedianInPlace(&weights) <= kMostInOneInterval) return;
  std::sort(complete.begin(), complete.end());
  const double quick = complete.empty() ? 0 : complete[complete.size() / 4];
  for (const int32_t peer : peers) {
    float& scale = profile->guess_scale[at(peer)];
    if (scale <= 1) continue;
    if (quick > 0 && static_cast<double>(profile->own[at(peer)] / scale) > quick) {
      for (std::vector<float>* row : {&profile->own, &profile->shared, &profile->host_bound}) (*row)[at(peer)] /= scale;
    } else {
      scale = kUnknown;
    }
  }
}

// Excess of each of `peers` over the others in one step. Of peers on two hosts, a slow host's are one half: there the
// middle of the quicker host says what the work needs.
class PeerReference {
 public:
  PeerReference(const Trace& trace, const std::vector<int32_t>& peers) : peers_(peers) {
    for (const int32_t peer : peers) {
      const int32_t host = trace.ranks[static_cast<size_t>(peer)].host;
      const auto known = std::find(hosts_.begin(), hosts_.end(), host);
      half_.push_back(static_cast<size_t>(known - hosts_.begin()));
      if (known == hosts_.end()) hosts_.push_back(host);
      if (hosts_.size() > kHalves) return;
    }
  }

  void Apply(size_t step, OwnProfile* profile) {
    const auto at = [&](size_t i) { return static_cast<size_t>(peers_[i]) * profile->steps + step; };
    for (std::vector<double>& values : values_) values.clear();
    for (size_t i = 0; i < peers_.size(); ++i) {
      const float own = profile->shared[at(i)];
      if (!std::isnan(own)) values_[PartOf(i)].push_back(static_cast<double>(own));
    }
    for (std::vector<double>& values : values_) std::sort(values.begin(), values.end());
    if (IsByHost() && std::any_of(values_.begin(), values_.end(), IsTooSmall)) Join();
    if (values_[0].size() < 2) return;
    for (size_t i = 0; i < peers_.size(); ++i) {
      const auto own = static_cast<double>(profile->shared[at(i)]);
      if (std::isnan(own) || std::isnan(profile->guess_scale[at(i)])) continue;
      profile->excess[at(i)] = static_cast<float>(own - Reference(own, values_[1].empty() ? 0 : PartOf(i)));
    }
  }

 private:
  static constexpr size_t kHalves = 2;     // of the ranks: by host
  static constexpr size_t kMinOfHost = 4;  // of fewer, the quicker host may be quicker by chance
  using Halves = std::array<std::vector<double>, kHalves>;

  static bool IsTooSmall(const std::vector<double>& values) { return values.size() < kMinOfHost; }
  bool IsByHost() const { return hosts_.size() == kHalves; }
  size_t PartOf(size_t i) const { return IsByHost() ? half_[i] : 0; }

  void Join() {
    values_[0].insert(values_[0].end(), values_[1].begin(), values_[1].end());
    values_[1].clear();
    std::sort(values_[0].begin(), values_[0].end());
  }

  double Reference(double own, size_t part) const {
    const double of_part = MedianWithout(values_[part], own);
    if (values_[1].empty()) return of_part;
    const std::vector<double>& others = values_[1 - part];
    return std::min(of_part, MedianWithout(others, kNobody));
  }

  static constexpr double kNobody = std::numeric_limits<double>::infinity();

  static double MedianWithout(const std::vector<double>& values, double own) {
    const bool leaves_out = own < kNobody;
    size_t without = values.size();
    if (leaves_out && values.size() <= kExactReference) {
      without = static_cast<size_t>(std::lower_bound(values.begin(), values.end(), own) - values.begin());
    }
    const auto at = [&](size_t place) { return values[place < without ? place : place + 1]; };
    const size_t n = values.size() - (leaves_out ? 1 : 0);
    return n % 2 == 1 ? at(n / 2) : (at(n / 2) + at(n / 2 - 1)) / 2;
  }

  const std::vector<int32_t>& peers_;
  std::vector<int32_t> hosts_;  // at most one more than kHalves
  std::vector<size_t> half_;    // by place among the peers: of its host
  Halves values_;               // rising; all in the first unless by host
};

// Where hardly any work lies apart from that between AllToAlls, its comparable part has to do.
void CompareExperts(const std::vector<int32_t>& peers, int32_t step, ExpertWork* work, OwnProfile* profile) {
  const auto at = [&](int32_t peer) { return static_cast<size_t>(peer) * profile->steps + static_cast<size_t>(step); };
  double own = 0, apart = 0;
  for (const int32_t peer : peers) {
    if (std::isnan(profile->own[at(peer)])) continue;
    own += static_cast<double>(profile->own[at(peer)]);
    apart += static_cast<double>(profile->shared[at(peer)]);
  }
  if (apart >= kMinApart * own) return;
  const std::vector<double>& comparable = work->Comparable(peers, step);
  for (size_t i = 0; i < peers.size(); ++i) profile->shared[at(peers[i])] += static_cast<float>(comparable[i]);
}

// What all ranks at one place of their expert groups exceed their peers by comes with the tokens that are routed to
// these experts. A rank's own is what it exceeds the others at its place by, on other hosts.
class PlaceShare {
 public:
  PlaceShare(const Trace& trace, const std::vector<int32_t>& peers, const OwnProfile& profile) : trace_(trace) {
    for (const int32_t peer : peers) at_place_[profile.expert_place[static_cast<size_t>(peer)]].push_back(peer);
    if (at_place_.size() < 2) at_place_.clear();  // without experts all are at one place
  }

  void TakeOff(size_t step, OwnProfile* profile) const {
    for (const auto& [place, fellows] : at_place_) {
      const auto excess_of = [&, step](int32_t rank) -> float& {
        return profile->excess[static_cast<size_t>(rank) * profile->steps + step];
      };
      std::vector<float> shared;
      // Of many, leaving one host out changes nothing.
      const bool alike = fellows.size() > kExactReference;
      for (const int32_t rank : fellows) {
        if (!alike || shared.empty()) shared.push_back(SharedWith(alike ? -1 : HostOf(rank), fellows, excess_of));
      }
      for (size_t i = 0; i < fellows.size(); ++i) excess_of(fellows[i]) -= shared[alike ? 0 : i];
    }
  }

 private:
  int32_t HostOf(int32_t rank) const { return trace_.ranks[static_cast<size_t>(rank)].host; }

  // By the fellows on other hosts.
  template <typename ExcessOf>
  float SharedWith(int32_t host, const std::vector<int32_t>& fellows, const ExcessOf& excess_of) const {
    std::vector<double> others;
    for (const int32_t fellow : fellows) {
      if (HostOf(fellow) == host || std::isnan(excess_of(fellow))) continue;
      others.push_back(static_cast<double>(excess_of(fellow)));
    }
    return others.size() < kMinFellows ? 0 : static_cast<float>(std::max(0.0, MedianInPlace(&others)));
  }

  const Trace& trace_;
  std::map<int32_t, std::vector<int32_t>> at_place_;
};

}  // namespace

OwnProfile SumOwnTimes(const Trace& trace, const JobRoles& roles, const StepTable& steps, const OwnTimes& times,
                       const std::vector<char>& without_begins, Executor* executor) {
  OwnProfile profile;
  profile.ranks = trace.ranks.size();
  profile.steps = static_cast<size_t>(steps.steps);
  const size_t cells = profile.ranks * profile.steps;
  profile.own.assign(cells, kUnknown);
  profile.shared.assign(cells, kUnknown);
  profile.excess.assign(cells, kUnknown);
  profile.host_bound.assign(cells, kUnknown);
  profile.largest.assign(cells, kUnknown);
  profile.largest_before.assign(cells, kNoOperation);
  profile.guess_scale.assign(cells, 1);
  profile.expert_place = PlacesIn(trace, roles, GroupRole::kExpert);
  RunParts(executor, profile.ranks, PartsOf(executor, profile.ranks), [&](size_t, size_t begin, size_t end) {
    for (size_t rank = begin; rank < end; ++rank) {
      if (without_begins[rank] == 0) SumSteps(trace, rank, steps, times, &profile);
    }
  });
  ExpertWork expert_work(trace, steps, times);
  for (const std::vector<int32_t>& peers : roles.classes) {
    ForgetOtherLengths(peers, steps, &profile);
    PeerReference reference(trace, peers);
    const PlaceShare place_share(trace, peers, profile);
    for (int32_t step = 0; step < steps.steps; ++step) {
      DistrustPoorGuesses(peers, static_cast<size_t>(step), &profile);
      CompareExperts(peers, step, &expert_work, &profile);
      reference.Apply(static_cast<size_t>(step), &profile);
      place_share.TakeOff(static_cast<size_t>(step), &profile);
    }
  }
  return profile;
}

}  // namespace lockstep
