#include "sim/second/world.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/random.h"

namespace lockstep::second {
namespace {

constexpr int kMostTries = 4000;
constexpr int kTriesOfSize = 100;
constexpr int kFreeRunningDepth = 64;
constexpr int kMostOperations = 64;  // of a rank in a step: what keeps files and judging small

// One sequence of draws behind everything about a world.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}

  double Between(double low, double high) { return low + (high - low) * random_.Unit(); }
  // Uniform in the logarithm: as likely to double from the low end as to halve from the high one.
  double Scale(double low, double high) { return low * std::pow(high / low, random_.Unit()); }
  bool Chance(double probability) { return random_.Unit() < probability; }
  int Whole(int low, int high) { return low + static_cast<int>(random_.Below(static_cast<uint64_t>(high - low + 1))); }
  int OneOf(absl::Span<const int> values) { return values[random_.Below(values.size())]; }

 private:
  Random random_;
};

int DrawRanks(Dice& dice) {
  struct Size {
    int ranks;
    double weight;
  };
  constexpr Size kSizes[] = {{16, 0.10}, {32, 0.20}, {64, 0.34}, {128, 0.22}, {256, 0.10}, {512, 0.03}, {1024, 0.01}};
  double left = dice.Between(0, 1);
  for (const Size& size : kSizes) {
    left -= size.weight;
    if (left < 0) return size.ranks;
  }
  return 64;
}

enum class Family { kReplicas, kSharded, kTensor, kPipeline, kExperts, kContext };

void DivideExperts(Dice& dice, Shape& shape) {
  shape.tensor = dice.OneOf({1, 1, 2});
  shape.pipeline = dice.OneOf({1, 1, 2, 4});
  shape.expert = dice.OneOf({4, 8, 8, 16});
}

void Divide(Dice& dice, int ranks, Shape& shape) {
  const auto family = static_cast<Family>(dice.OneOf({0, 1, 1, 2, 3, 3, 3, 4, 4, 5}));
  switch (family) {
    case Family::kReplicas:
      break;
    case Family::kSharded:
      shape.sharded = true;
      shape.tensor = dice.OneOf({1, 1, 1, 2});
      break;
    case Family::kTensor:
      shape.tensor = dice.OneOf({2, 4, 8});
      break;
    case Family::kPipeline:
      shape.tensor = dice.OneOf({1, 2, 4, 8});
      shape.pipeline = dice.OneOf({2, 4, 4, 8});
      break;
    case Family::kExperts:
      DivideExperts(dice, shape);
      break;
    case Family::kContext:
      shape.tensor = dice.OneOf({1, 2, 4});
      shape.context = dice.OneOf({2, 2, 4});
      shape.pipeline = dice.OneOf({1, 1, 2});
      break;
  }
  shape.data = ranks / (shape.tensor * shape.context * shape.pipeline);
}

int CallsOfLayer(const Shape& shape) {
  int calls = 0;
  if (shape.tensor > 1) calls += shape.sequence_parallel ? 8 : 4;
  if (shape.context > 1) calls += shape.context_ring ? 4 : 2;
  if (shape.expert > 1) calls += 4;
  return calls;
}

void Arrange(Dice& dice, Shape& shape) {
  shape.sequence_parallel = dice.Chance(0.3);
  shape.context_ring = dice.Chance(0.5);
  shape.pair_communicators = dice.Chance(0.5);
  shape.data_outermost = dice.Chance(0.25);
  if (shape.pipeline > 1) {
    constexpr Schedule kSchedules[] = {Schedule::kAllForwardFirst, Schedule::kOneForwardOneBackward,
                                       Schedule::kOneForwardOneBackward, Schedule::kInterleaved, Schedule::kZeroBubble};
    shape.schedule = kSchedules[dice.Whole(0, 4)];
    if (shape.schedule == Schedule::kInterleaved && shape.pipeline < 4) shape.schedule = Schedule::kZeroBubble;
    if (shape.schedule == Schedule::kInterleaved) shape.chunks = 2;
    shape.microbatches = shape.pipeline * (shape.pipeline < 8 ? dice.OneOf({1, 2, 2}) : 1);
  } else {
    shape.microbatches = dice.OneOf({1, 1, 2, 4});
  }
  const int budget = kMostOperations / (shape.ranks() >= 256 ? 2 : 1);
  const int per_layer = std::max(1, CallsOfLayer(shape) * shape.microbatches * shape.chunks);
  shape.layers = std::clamp(budget / per_layer, 1, shape.pipeline > 1 ? 3 : 6);
  if (per_layer * shape.layers > 2 * budget) shape.microbatches = std::max(shape.pipeline, shape.microbatches / 2);
}

void DrawWork(Dice& dice, World& world) {
  Work& work = world.work;
  const Shape& shape = world.shape;
  const double step_ns = dice.Scale(0.4e9, 3e9);
  work.backward_ratio = dice.Between(1.8, 2.2);
  work.recompute = dice.Chance(0.3);
  const double passes = 1 + work.backward_ratio + (work.recompute ? 1 : 0);
  work.forward_ns = step_ns / (passes * shape.layers * shape.chunks * shape.microbatches);
  work.optimizer_ns = step_ns * dice.Between(0.01, 0.05);
  work.noise = dice.Scale(0.002, 0.015);
  work.static_spread = dice.Between(0.01, 0.03);
  work.uneven_batches = dice.Chance(0.4) ? dice.Between(0.005, 0.03) : 0;
  work.uneven_experts = dice.Between(0.01, 0.08);
  work.contention = dice.Chance(0.5) ? dice.Between(0.01, 0.08) : 0;
  Traffic& traffic = world.traffic;
  traffic.tensor_share = dice.Between(0.08, 0.25);
  traffic.data_share = dice.Between(0.15, 0.8);
  traffic.pipeline_share = dice.Between(0.02, 0.12);
  traffic.expert_share = dice.Between(0.1, 0.35);
  traffic.context_share = dice.Between(0.1, 0.4);
  traffic.overlapped = dice.Chance(0.75);
  traffic.gather_apart = dice.Chance(0.6);
  traffic.sharded_optimizer = dice.Chance(0.5);
}

void DrawHost(Dice& dice, HostLife& host) {
  host.launch_share = dice.Between(0.2, 0.75);
  host.call_ns = dice.Scale(5e3, 40e3);
  host.queue_depth = dice.Chance(0.4) ? dice.Whole(4, 24) : 1000;
  host.sync_steps = dice.Chance(0.75);
  // One kernel stands for many: a host that nothing holds back is a part of a step ahead, not several steps.
  if (!host.sync_steps) host.queue_depth = std::min(host.queue_depth, kFreeRunningDepth);
  host.sync_transfers = dice.Chance(0.3);
  host.stall_chance = dice.Chance(0.5) ? dice.Between(0.005, 0.05) : 0;
  host.stall_ns = dice.Scale(3e6, 60e6);
  host.loader_ns = dice.Scale(0.3e6, 8e6);
  host.loader_stall_chance = dice.Chance(0.3) ? dice.Between(0.0002, 0.002) : 0;
  host.loader_stall_ns = dice.Scale(50e6, 500e6);
  host.barrier = dice.Chance(0.2);
}

void DrawNetwork(Dice& dice, int gpus_per_host, Network& network) {
  network.nics_per_host = std::min(gpus_per_host, dice.OneOf({1, 2, 4, 8, 8}));
  network.nic_rate = dice.OneOf({12, 25, 50});
  network.nvlink_rate = dice.OneOf({150, 250, 400});
  network.leaf_hosts = dice.OneOf({2, 4, 8, 16});
  network.rails = dice.Chance(0.5);
  network.oversubscription = dice.Chance(0.7) ? 1 : dice.Between(1, 1.6);
  network.path_spread = dice.Between(0, 0.08);
  network.latency_ns = dice.Scale(5e3, 40e3);
  network.exit_skew_ns = dice.Scale(1e3, 25e3);
  network.trees = dice.Chance(0.25);
}

void DrawCalendar(Dice& dice, const World& world, const Need& need, Calendar& calendar) {
  calendar.steps = need.hang ? dice.Whole(5, 12) : world.shape.ranks() >= 256 ? 24 : dice.Whole(28, 44);
  calendar.evaluate_every = dice.Chance(0.15) ? dice.Whole(8, 16) : 0;
  calendar.checkpoint_every = dice.Chance(0.25) ? dice.Whole(7, 15) : 0;
  calendar.checkpoint_ns = dice.Scale(0.3e9, 4e9);
}

void DrawRecorder(Dice& dice, int hosts, const Need& need, Recorder& recorder) {
  recorder.clock_spread_ns = dice.Scale(1e6, 1e13);
  recorder.drift_ppm = dice.Between(0, 30);
  recorder.tick_ns = dice.OneOf({1, 32, 1000});
  recorder.plain_names = dice.Chance(0.2);
  recorder.host_name_style = dice.Whole(0, 4);
  recorder.has_gpu = dice.Chance(0.85);
  recorder.has_bytes = dice.Chance(0.85);
  recorder.has_comm_rank = dice.Chance(0.85);
  recorder.has_comm_size = dice.Chance(0.85);
  recorder.has_enqueue = dice.Chance(0.9);
  recorder.tensor_recorded = dice.Chance(0.92);
  if (need.plain) return;
  const bool ugly = need.ugly || dice.Chance(0.3);
  recorder.shuffled = ugly && dice.Chance(0.6);
  recorder.lost_share = ugly && dice.Chance(0.6) ? dice.Scale(0.001, 0.02) : 0;
  recorder.late_share = ugly && dice.Chance(0.4) ? dice.Between(0.02, 0.15) : 0;
  recorder.silent_hosts = ugly && dice.Chance(0.4) ? std::max(1, hosts / 16) : 0;
  recorder.duplicate_share = ugly && dice.Chance(0.4) ? dice.Scale(0.001, 0.05) : 0;
  recorder.host_begin_share = ugly && dice.Chance(0.2) ? dice.Between(0.05, 0.3) : 0;
}

World DrawOnce(uint64_t seed, int ranks, const Need& need) {
  Dice dice(seed);
  World world;
  world.seed = seed;
  Shape& shape = world.shape;
  shape.gpus_per_host = dice.OneOf({8, 8, 8, 4});
  Divide(dice, ranks, shape);
  Arrange(dice, shape);
  DrawWork(dice, world);
  DrawHost(dice, world.host);
  DrawNetwork(dice, shape.gpus_per_host, world.network);
  DrawCalendar(dice, world, need, world.calendar);
  DrawRecorder(dice, shape.hosts(), need, world.recorder);
  return world;
}

bool IsPossible(const Shape& shape) {
  return shape.data >= 2 && shape.tensor * shape.context * shape.data * shape.pipeline == shape.ranks() &&
         shape.tensor <= shape.gpus_per_host && shape.hosts() >= 2 && shape.pipeline <= 8 &&
         (shape.data * shape.context) % shape.expert == 0 && (!shape.sharded || shape.pipeline == 1);
}

// Whether neighbouring stages are on different hosts.
bool StagesApart(const Shape& shape) {
  const int stride = shape.tensor * shape.context * (shape.data_outermost ? 1 : shape.data);
  return shape.pipeline > 1 && stride >= shape.gpus_per_host;
}

bool Suits(const World& world, const Need& need) {
  const Shape& shape = world.shape;
  if (!IsPossible(shape) || shape.hosts() < need.least_hosts) return false;
  if (need.tensor && (shape.tensor < 2 || !world.recorder.tensor_recorded)) return false;
  if (need.pipeline_across_hosts && !StagesApart(shape)) return false;
  if (need.expert && (shape.expert < 2 || shape.hosts() * 2 < shape.expert)) return false;
  if (need.data_and_more && shape.data * shape.context == shape.ranks()) return false;
  if (need.busy_adapters &&
      (world.traffic.data_share < 0.4 || shape.data * shape.tensor * shape.context <= shape.gpus_per_host)) {
    return false;
  }
  if (need.no_context && shape.context > 1) return false;
  if (need.four_leaves && shape.hosts() < 4 * world.network.leaf_hosts) return false;
  return true;
}

}  // namespace

World DrawWorld(uint64_t seed, const Need& need) {
  Random seeds(seed);
  World world;
  int ranks = 0;
  for (int i = 0; i < kMostTries; ++i) {
    // Large jobs suit most needs: a size is kept for a while, lest they be all that is left.
    if (i % kTriesOfSize == 0) {
      Dice dice(seeds.Next());
      ranks = DrawRanks(dice);
    }
    world = DrawOnce(seeds.Next(), ranks, need);
    if (Suits(world, need)) break;
  }
  return world;
}

std::vector<std::string> FeaturesOf(const World& world) {
  const Shape& shape = world.shape;
  std::vector<std::string> features = {absl::StrCat("ranks ", shape.ranks())};
  const auto add = [&](bool holds, const char* word) {
    if (holds) features.emplace_back(word);
  };
  add(shape.ranks() == shape.data && !shape.sharded && shape.expert == 1, "replicas only");
  add(shape.sharded, "sharded");
  add(shape.tensor > 1, "tensor");
  add(shape.context > 1, "context");
  add(shape.expert > 1, "experts");
  add(shape.pipeline > 1, "pipeline");
  constexpr const char* kNames[] = {"all forward first", "1F1B", "interleaved", "zero bubble"};
  add(shape.pipeline > 1, kNames[static_cast<size_t>(shape.schedule)]);
  add(world.traffic.overlapped, "overlapped");
  add(world.host.queue_depth < 100, "shallow queue");
  add(!world.host.sync_steps, "steps not synchronised");
  add(world.host.sync_transfers, "transfers synchronised");
  add(world.host.barrier, "unrecorded barrier");
  add(world.host.stall_chance > 0 || world.host.loader_stall_chance > 0, "host stalls");
  add(world.network.nics_per_host < shape.gpus_per_host, "shared adapters");
  add(world.network.rails, "rails");
  add(world.work.uneven_batches > 0, "uneven batches");
  add(world.work.contention > 0, "contention");
  add(world.calendar.evaluate_every > 0, "evaluation");
  add(world.calendar.checkpoint_every > 0, "checkpoints");
  const Recorder& recorder = world.recorder;
  add(!recorder.tensor_recorded && shape.tensor > 1, "tensor not recorded");
  add(recorder.lost_share > 0, "losses");
  add(recorder.late_share > 0, "late starters");
  add(recorder.silent_hosts > 0, "silent hosts");
  add(recorder.host_begin_share > 0, "host-side begins");
  add(!recorder.has_bytes || !recorder.has_comm_rank || !recorder.has_comm_size || !recorder.has_enqueue ||
          !recorder.has_gpu,
      "empty columns");
  return features;
}

}  // namespace lockstep::second
