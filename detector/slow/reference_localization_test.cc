// Own times and persistence against slow versions that follow their definitions, on random input.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/awaited_recvs.h"
#include "detector/steps/begins_seen.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/own_time.h"
#include "detector/steps/peer_sample.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/whole_steps.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Own times --------------------------------------------------------------------------------------------------------

// Whether `later` began no sooner than a twentieth of the length of `operation` before its end.
bool HasEnded(const TraceOperation& operation, const TraceOperation& later) {
  return 20 * (operation.end_ns - later.start_ns) <= operation.duration_ns();
}

bool BeganTogether(const TraceOperation& operation, const TraceOperation& later) {
  return 20 * (later.start_ns - operation.start_ns) <= operation.duration_ns();
}

// What the first `count` operations of a rank, in order of their starts, say about how far its work has come.
class ReferencePast {
 public:
  ReferencePast(const std::vector<const TraceOperation*>& order, const JobRoles& roles, const WorkOrder& work_order)
      : order_(order), roles_(roles), work_order_(work_order) {}

  // Seconds before the operation at place `count`, from when the work went on at the latest, as far as it can tell;
  // -1 where nothing was called before it.
  double OwnSeconds(size_t count) const {
    const TraceOperation& operation = *order_[count];
    int64_t went_on_ns = kNever;
    for (size_t j = 0; j < count; ++j) {
      if (!CalledBefore(j, count)) continue;
      if (!StoodInLine(j)) went_on_ns = std::max(went_on_ns, order_[j]->start_ns);
      const End end = EndOf(j, count);
      if (HoldsUp(j, count)) went_on_ns = std::max(went_on_ns, std::min(order_[j]->end_ns, operation.start_ns));
      const bool apart = work_order_.Apart(KindAt(j), KindAt(count));
      if (end.counts && !apart) went_on_ns = std::max(went_on_ns, end.at_ns);
    }
    if (went_on_ns == kNever) return -1;
    return std::max(0.0, static_cast<double>(operation.start_ns - went_on_ns) * 1e-9);
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

  struct End {
    int64_t at_ns = kNever;
    bool counts = false;  // not only for what stood in line behind it
  };

  size_t KindAt(size_t place) const { return KindOf(roles_, *order_[place]); }

  static bool StoodBehind(const TraceOperation& before, const TraceOperation& operation) {
    return before.communicator == operation.communicator &&
           20 * (operation.start_ns - before.end_ns) <= before.duration_ns();
  }

  // Of operation j, if it has ended by the start of that at place `count`; else never.
  End EndOf(size_t j, size_t count) const {
    bool beside = false;
    for (size_t m = j + 1; m <= count; ++m) {
      if (HasEnded(*order_[j], *order_[m])) {
        return {std::min(order_[j]->end_ns, order_[m]->start_ns), !beside || work_order_.awaited[KindAt(j)] != 0};
      }
      beside |= !BeganTogether(*order_[j], *order_[m]);
    }
    return {};
  }

  bool CalledBefore(size_t j, size_t count) const { return order_[j]->enqueue_ns <= order_[count]->enqueue_ns; }

  // The operation at place `count` stood in line behind operation j, whose end does not count for whatever comes next
  // and is the latest such end of its kind, of what was called before.
  bool HoldsUp(size_t j, size_t count) const {
    if (!CalledBefore(j, count) || !StoodBehind(*order_[j], *order_[count])) return false;
    const End end = EndOf(j, count);
    const bool counts_for_all = end.counts && work_order_.apart[KindAt(j)].empty();
    if (end.at_ns == kNever || counts_for_all) return false;
    for (size_t other = 0; other < count; ++other) {
      if (!CalledBefore(other, count)) continue;
      const End later = EndOf(other, count);
      if (KindAt(other) == KindAt(j) && later.counts == end.counts && later.at_ns > end.at_ns) return false;
    }
    return true;
  }

  bool StoodInLine(size_t count) const {
    for (size_t j = 0; j < count; ++j) {
      if (HoldsUp(j, count)) return true;
    }
    return false;
  }

  const std::vector<const TraceOperation*>& order_;
  const JobRoles& roles_;
  const WorkOrder& work_order_;
};

// Seconds before each operation of a rank without losses, by looking at all earlier ones.
std::vector<double> ReferenceOwn(absl::Span<const TraceOperation> operations, const JobRoles& roles,
                                 const WorkOrder& work_order) {
  std::vector<const TraceOperation*> order;
  for (const TraceOperation& operation : operations) order.push_back(&operation);
  std::stable_sort(order.begin(), order.end(),
                   [](const TraceOperation* a, const TraceOperation* b) { return a->start_ns < b->start_ns; });
  ReferencePast past(order, roles, work_order);
  std::vector<double> own(operations.size());
  for (size_t k = 0; k < order.size(); ++k) {
    own[static_cast<size_t>(order[k] - operations.data())] = past.OwnSeconds(k);
  }
  return own;
}

// Two ranks that meet in communicators of which the second may run beside the work of the first; or does so in a stream
// of its own, beside work that is regular, and behind other work of that stream. Hosts may be ahead of their GPUs.
Trace RandomStreams(Random& random) {
  constexpr OperationKind kKinds[] = {OperationKind::kAllReduce, OperationKind::kAllGather, OperationKind::kBroadcast};
  constexpr size_t kPlaces[] = {0, 1, 0, 1, 0, 0, 2};  // in the step, of the kinds
  TraceBuilder builder("job");
  std::vector<int32_t> ranks;
  for (int32_t rank = 0; rank < 2; ++rank) {
    ranks.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
  }
  std::vector<int32_t> communicators;
  for (int32_t c = 0; c < 3; ++c) {
    communicators.push_back(builder.AddCommunicator(absl::StrCat("c", c), "", 2));
    for (int32_t rank = 0; rank < 2; ++rank)
      builder.AddMember(communicators.back(), rank, ranks[static_cast<size_t>(rank)]);
  }
  const uint64_t overlap = random.Below(3);
  const bool own_stream = random.Below(2) == 0;
  const uint64_t lead_ns = random.Below(2) == 0 ? 1 : 600'000, other_ns = random.Below(2) == 0 ? 1 : 300'000;
  for (const int32_t rank : ranks) {
    int64_t now_ns = 1'000'000, called_ns = 0;
    int64_t free_ns = 0;  // when the stream of the second communicator is
    std::vector<uint64_t> sequence(3, 0);
    for (int32_t step = 0; step < 12; ++step) {
      for (const size_t which : kPlaces) {
        now_ns += static_cast<int64_t>(own_stream ? 200'000 + random.Below(1'000) : 1'000 + random.Below(400'000));
        const bool beside = own_stream && which == 1;
        if (own_stream && which == 2) now_ns = std::max(now_ns, free_ns);
        const auto length_ns = static_cast<int64_t>(1'000 + random.Below(own_stream && !beside ? 50'000 : 500'000));
        const auto other_work_ns = static_cast<int64_t>(random.Below(other_ns));
        const int64_t start_ns = beside ? std::max(now_ns, free_ns) + other_work_ns : now_ns;
        if (beside) free_ns = start_ns + length_ns;
        called_ns = std::max(called_ns, now_ns - static_cast<int64_t>(random.Below(lead_ns)));
        builder.Add(rank, {.enqueue_ns = called_ns,
                           .start_ns = start_ns,
                           .end_ns = start_ns + length_ns,
                           .sequence = ++sequence[which],
                           .bytes = 64,
                           .communicator = communicators[which],
                           .kind = kKinds[which]});
        if (!beside && (own_stream || random.Below(3) >= overlap)) now_ns += length_ns;
      }
    }
  }
  return builder.Build();
}

TEST(ReferenceOwnTimeTest, AgreesOnRandomStreamsThatOverlap) {
  int with_apart = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const Trace trace = RandomStreams(random);
    const OperationInstances matched = MatchOperations(trace);
    const JobRoles roles = InferRoles(trace, matched);
    const StepTable steps = FindSteps(trace, matched, roles);
    const AwaitedRecvs awaited = FindAwaitedRecvs(trace, matched, roles, steps, FindWholeSteps(matched, steps),
                                                  RanksWithoutBegins(trace, roles));
    const OwnTimes times = MeasureOwnTimes(trace, matched, roles, OrderByWaiting(trace, roles), steps, awaited,
                                           RanksWithoutBegins(trace, roles));
    with_apart +=
        std::any_of(times.order.apart.begin(), times.order.apart.end(), [](const auto& row) { return !row.empty(); });
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      const std::vector<double> own = ReferenceOwn(trace.OperationsOf(rank), roles, times.order);
      for (size_t i = 0; i < own.size(); ++i) {
        const float measured = times.before[trace.first_operation[rank] + i].seconds;
        ASSERT_NEAR(static_cast<double>(measured), own[i], 1e-9) << "seed " << seed << " rank " << rank << " op " << i;
      }
    }
  }
  EXPECT_GT(with_apart, 5);
}

// Persistence ------------------------------------------------------------------------------------------------------

double MiddleOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<double> KnownIn(absl::Span<const float> row, size_t first, size_t last) {
  std::vector<double> known;
  for (size_t step = first; step <= last; ++step) {
    if (!std::isnan(row[step])) known.push_back(static_cast<double>(row[step]));
  }
  return known;
}

// One class of random ranks; some are slow from some step on, all with noise and unknown steps.
OwnProfile RandomProfile(Random& random, JobRoles* roles, StepTable* steps) {
  OwnProfile profile;
  profile.ranks = 2 + random.Below(20);
  profile.steps = 4 + random.Below(30);
  roles->classes.resize(1);
  const double noise = 0.001 + 0.01 * random.Unit();
  for (size_t rank = 0; rank < profile.ranks; ++rank) {
    roles->classes[0].push_back(static_cast<int32_t>(rank));
    roles->class_of_rank.push_back(0);
    const double slow = random.Below(5) == 0 ? 0.3 * random.Unit() : 0;
    const size_t onset = random.Below(profile.steps);
    for (size_t step = 0; step < profile.steps; ++step) {
      const double excess = noise * random.Gaussian() + (step >= onset ? slow : 0);
      const bool known = random.Below(12) != 0;
      profile.excess.push_back(known ? static_cast<float>(excess) : std::nanf(""));
      profile.shared.push_back(known ? static_cast<float>(0.5 + excess) : std::nanf(""));
    }
  }
  steps->steps = static_cast<int32_t>(profile.steps);
  steps->usual.assign(profile.steps, 1);
  steps->usual_seconds = 1;
  return profile;
}

struct ReferenceNoise {
  double between_steps = 0;
  double between_peers = 0;
};

ReferenceNoise NoiseOf(const OwnProfile& profile, size_t first, size_t last) {
  std::vector<double> changes, medians;
  for (size_t rank = 0; rank < profile.ranks; ++rank) {
    const std::vector<double> known = KnownIn(profile.Row(profile.excess, rank), first, last);
    if (known.size() < 2) continue;
    for (size_t k = 1; k < known.size(); ++k) changes.push_back(std::abs(known[k] - known[k - 1]));
    medians.push_back(MiddleOf(known));
  }
  ReferenceNoise noise;
  noise.between_steps = 1.4826 * MiddleOf(changes) / std::sqrt(2.0);
  if (medians.size() >= 8) {
    // The narrowest interval that holds half of the medians, wherever it begins.
    double narrowest = std::numeric_limits<double>::infinity();
    for (const double from : medians) {
      for (const double to : medians) {
        const auto held = std::count_if(medians.begin(), medians.end(), [&](double m) { return m >= from && m <= to; });
        if (2 * static_cast<size_t>(held) >= medians.size()) narrowest = std::min(narrowest, to - from);
      }
    }
    noise.between_peers = narrowest * 1.4826 / 2;
  }
  return noise;
}

// The stretch of known steps whose excess above `drift` sums to most, of all stretches.
bool BestStretch(absl::Span<const float> row, double drift, size_t* first, size_t* last) {
  double best = 0;
  for (size_t from = 0; from < row.size(); ++from) {
    if (std::isnan(row[from])) continue;
    double sum = 0;
    for (size_t to = from; to < row.size(); ++to) {
      if (std::isnan(row[to])) continue;
      sum += static_cast<double>(row[to]) - drift;
      if (sum <= best + 1e-15) continue;
      best = sum;
      *first = from;
      *last = to;
    }
  }
  return best > 0;
}

bool ReferenceConvicts(const OwnProfile& profile, const ReferenceNoise& noise, size_t rank, Suspect* suspect) {
  const PersistenceOptions options;
  const auto stretches = static_cast<double>(profile.steps * profile.steps + 1);
  const double sure =
      std::sqrt(2 * std::log(static_cast<double>(profile.ranks + 1) * stretches / options.false_suspects_per_job));
  const absl::Span<const float> row = profile.Row(profile.excess, rank);
  const double least = options.min_cost / 2;  // of a step of one second
  double drift = std::max(least, sure * noise.between_steps / std::sqrt(static_cast<double>(profile.steps))) / 2;
  size_t first = 0, last = 0;
  double effect = 0;
  for (int round = 0; round < 3; ++round) {
    if (!BestStretch(row, drift, &first, &last)) return false;
    const std::vector<double> known = KnownIn(row, first, last);
    if (known.size() < 4) return false;
    effect = MiddleOf(known);
    drift = std::max(drift, effect / 2);
  }
  const std::vector<double> known = KnownIn(row, first, last);
  const auto n = static_cast<double>(known.size());
  const auto error_of = [n](const ReferenceNoise& one) {
    return std::max(one.between_steps * 1.2533 / std::sqrt(n), one.between_peers);
  };
  const double error = std::max(error_of(noise), error_of(NoiseOf(profile, first, last)));
  const auto strong = std::count_if(known.begin(), known.end(), [&](double v) { return v >= effect / 2; });
  suspect->first_step = static_cast<int32_t>(first);
  suspect->last_step = static_cast<int32_t>(last);
  suspect->excess_seconds = effect;
  suspect->significance = effect / error;
  suspect->share_of_steps = static_cast<double>(strong) / n;
  const double above_half = 0.5 * (1 + std::erf(effect / 2 / noise.between_steps / std::sqrt(2.0)));
  const double least_share =
      std::min(options.min_persistence, above_half - 2 * std::sqrt(above_half * (1 - above_half) / n));
  return effect >= least && effect / error >= sure && suspect->share_of_steps >= least_share;
}

TEST(ReferencePersistenceTest, AgreesOnRandomProfiles) {
  size_t suspects = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    JobRoles roles;
    StepTable steps;
    const OwnProfile profile = RandomProfile(random, &roles, &steps);
    const std::vector<Suspect> found = FindPersistentExcess(profile, roles, steps, {});
    const ReferenceNoise noise = NoiseOf(profile, 0, profile.steps - 1);
    size_t expected = 0;
    for (size_t rank = 0; rank < profile.ranks; ++rank) {
      Suspect reference;
      const bool guilty = ReferenceConvicts(profile, noise, rank, &reference);
      const auto suspect = std::find_if(found.begin(), found.end(),
                                        [&](const Suspect& s) { return s.rank == static_cast<int32_t>(rank); });
      ASSERT_EQ(suspect != found.end(), guilty) << "seed " << seed << " rank " << rank;
      if (!guilty) continue;
      ++expected;
      EXPECT_EQ(suspect->first_step, reference.first_step) << "seed " << seed << " rank " << rank;
      EXPECT_EQ(suspect->last_step, reference.last_step) << "seed " << seed << " rank " << rank;
      EXPECT_NEAR(suspect->excess_seconds, reference.excess_seconds, 1e-9);
      EXPECT_NEAR(suspect->significance, reference.significance, 1e-6 * reference.significance);
      EXPECT_NEAR(suspect->share_of_steps, reference.share_of_steps, 1e-9);
    }
    EXPECT_EQ(found.size(), expected);
    suspects += expected;
  }
  EXPECT_GT(suspects, 100u);
}

}  // namespace
}  // namespace lockstep
