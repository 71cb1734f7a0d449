// The world of an episode: how big the job is, how it is divided, how its hosts, GPUs and network behave, and what the
// recorder gets to see. Drawn from the wide priors that docs/second-simulator.md lists.
//
// Plain values; thread-compatible. Times are nanoseconds, rates bytes per nanosecond (GB/s).

#ifndef LOCKSTEP_SIM_SECOND_WORLD_H_
#define LOCKSTEP_SIM_SECOND_WORLD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::second {

// In which order a pipeline stage works through its microbatches.
enum class Schedule : uint8_t { kAllForwardFirst, kOneForwardOneBackward, kInterleaved, kZeroBubble };

// How the job is divided. Ranks are tensor, context, data, pipeline from the fastest index to the slowest, or with data
// outermost. Expert groups are runs of neighbours of the data dimension.
struct Shape {
  int gpus_per_host = 8;
  int tensor = 1;
  int context = 1;
  int data = 1;
  int pipeline = 1;
  int expert = 1;
  int chunks = 1;  // virtual stages of each stage
  int microbatches = 1;
  int layers = 1;  // of each chunk; one stands for several of a real model
  Schedule schedule = Schedule::kOneForwardOneBackward;
  bool sharded = false;             // parameters too: gathered a layer ahead, gradients scattered
  bool data_outermost = false;      // else the pipeline is
  bool sequence_parallel = false;   // tensor groups gather and scatter instead of reducing
  bool context_ring = false;        // context groups pass blocks around; else they gather
  bool pair_communicators = false;  // every neighbourhood in the pipeline has its own; else the pipeline has one

  int ranks() const { return tensor * context * data * pipeline; }
  int hosts() const { return ranks() / gpus_per_host; }
};

struct Work {
  double forward_ns = 10e6;  // of one layer and one microbatch
  double backward_ratio = 2;
  double optimizer_ns = 10e6;
  double noise = 0.005;         // of each kernel, standard deviation
  double static_spread = 0.02;  // the slowest GPU to the fastest
  double uneven_batches = 0;    // standard deviation of the length of a microbatch
  double uneven_experts = 0;    // of the load of an expert
  double contention = 0;        // computing is so much slower beside a running operation
  bool recompute = false;       // backward does forward again
};

// How long operations take when nobody disturbs them, as shares of the computing that they belong to.
struct Traffic {
  double tensor_share = 0.15;
  double data_share = 0.4;
  double pipeline_share = 0.05;
  double expert_share = 0.2;
  double context_share = 0.2;
  bool overlapped = true;          // gradients are reduced while the backward pass goes on
  bool gather_apart = true;        // sharded parameters are gathered on a stream of their own
  bool sharded_optimizer = false;  // gradients are scattered, parameters gathered
};

// The CPU threads that launch.
struct HostLife {
  double launch_share = 0.4;    // CPU time of a launch, of the time of its kernel
  double call_ns = 15e3;        // CPU time of launching an operation
  int queue_depth = 1000;       // kernels that may wait on one GPU
  bool sync_steps = true;       // waits for the GPU at the end of a step
  bool sync_transfers = false;  // waits for every Send and Recv
  double stall_chance = 0;      // per rank and step: garbage collection and the like
  double stall_ns = 20e6;
  double loader_ns = 2e6;
  double loader_stall_chance = 0;  // per rank and step
  double loader_stall_ns = 100e6;
  bool barrier = false;  // hosts of a data group meet outside of NCCL before each step
};

struct Network {
  int nics_per_host = 8;
  double nic_rate = 40;
  double nvlink_rate = 250;
  int leaf_hosts = 8;  // hosts under one leaf switch, or under one set of rail switches
  bool rails = true;   // adapter i of every host hangs on switch i; else all on one leaf switch
  double oversubscription = 1;
  double path_spread = 0.04;  // the slowest path to the fastest
  double latency_ns = 15e3;
  double exit_skew_ns = 5e3;  // members leave an operation within so much
  bool trees = false;         // AllReduce along trees instead of rings
};

struct Calendar {
  int steps = 32;
  int evaluate_every = 0;  // 0 = never
  int checkpoint_every = 0;
  double checkpoint_ns = 1e9;
};

// What reaches the file.
struct Recorder {
  double clock_spread_ns = 1e9;  // hosts differ by so much, standard deviation
  double drift_ppm = 10;
  int64_t tick_ns = 1;
  double lost_share = 0;        // of the records, in bursts
  double late_share = 0;        // of the hosts begin to record late
  int silent_hosts = 0;         // leave no records
  double host_begin_share = 0;  // of the hosts know only when an operation was enqueued, not when it began
  double duplicate_share = 0;
  bool tensor_recorded = true;  // else tensor groups use kernels that nobody records
  bool has_gpu = true;
  bool has_bytes = true;
  bool has_comm_rank = true;
  bool has_comm_size = true;
  bool has_enqueue = true;
  bool shuffled = false;
  bool plain_names = false;  // communicators are called for what they are; else by numbers
  int host_name_style = 0;
};

struct World {
  uint64_t seed = 0;
  Shape shape;
  Work work;
  Traffic traffic;
  HostLife host;
  Network network;
  Calendar calendar;
  Recorder recorder;
};

// What a fault needs its world to have.
struct Need {
  bool tensor = false;
  bool pipeline_across_hosts = false;
  bool expert = false;
  bool data_and_more = false;  // data groups that are not the whole job
  bool busy_adapters = false;  // operations between hosts take a noticeable share of the step
  bool four_leaves = false;
  bool no_context = false;
  bool hang = false;   // few steps
  bool plain = false;  // a recorder that sees everything
  bool ugly = false;   // one that does not
  int least_hosts = 2;
};

// Equal seeds and needs give equal worlds.
World DrawWorld(uint64_t seed, const Need& need);

// What tells this world from others, in words that tables can be made of ("ranks 64", "shallow queue").
std::vector<std::string> FeaturesOf(const World& world);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_WORLD_H_
