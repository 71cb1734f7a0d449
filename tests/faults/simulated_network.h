// Streams of agents to the collector, without sockets: gRPC's interfaces at both ends, time and trouble in between.
//
// What is sent on one stream arrives in order or not at all, as over TCP; streams overtake each other. A stream takes
// no more than kWindow messages that the collector has not read. Either end may learn that a stream is over long before
// the other does; what was sent before then still arrives. Messages of a partitioned machine wait until it is over.
//
// The collector's end is a call as gRPC's server makes them: it never calls back from within a call, and has reactions
// run by threads of the collector. Thread-safe; for threads of a ThreadWorld.

#ifndef LOCKSTEP_TESTS_FAULTS_SIMULATED_NETWORK_H_
#define LOCKSTEP_TESTS_FAULTS_SIMULATED_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/uplink/collector_stream.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "collector/ingest/ingest_service.h"
#include "tests/faults/reaction_pool.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

class Connection;

// How long messages take, at least and at most.
struct Delay {
  int64_t least_ns = 200 * kNanosPerMicro;
  int64_t most_ns = kNanosPerMilli;
};

// Who learns at once that a stream is over; the other end learns it within kLateNanos. One agent in kUntoldOneIn never
// learns it: a machine without power tells nobody.
enum class Told { kBoth, kAgent, kCollector };

class SimulatedNetwork {
 public:
  static constexpr size_t kWindow = 16;
  static constexpr int64_t kLateNanos = 40 * kNanosPerSecond;
  static constexpr int64_t kUntoldOneIn = 3;
  static constexpr int64_t kConnectTimeoutNanos = 20 * kNanosPerSecond;

  // Where streams end up.
  struct Server {
    IngestService* service = nullptr;
    ReactionPool* pool = nullptr;
  };

  explicit SimulatedNetwork(const Random& random);
  ~SimulatedNetwork();
  SimulatedNetwork(const SimulatedNetwork&) = delete;
  SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

  // Connects from the calling thread's machine.
  std::unique_ptr<CollectorStream> Connect();

  // New streams go there; Stop: they are refused, and the streams of the server before end on its side. Their agents
  // are told at once if `is_told`, as by a kernel that lives on, or else within kLateNanos or never.
  void Serve(const Server& server);
  void StopServing(bool is_told);

  void SetPartitioned(Machine agent, bool partitioned);
  void SetDelay(Machine agent, const Delay& delay);
  // Ends the streams of that agent.
  void Break(Machine agent, Told told);
  // The agent is dead: nothing is left of its streams on its side, and the collector learns of it late or never.
  void Abandon(Machine agent, bool is_told);

  uint64_t messages() const;  // sent so far, in both directions
  size_t streams() const;     // of which an end is not over

  // For Connection.
  int64_t ArrivalTime(Machine agent, int64_t not_before_ns);
  void Post(int64_t world_ns, std::function<void()> event);
  // Runs `event` now, or when the partition is over.
  void Arrive(Machine agent, std::function<void()> event);
  void CountMessage();
  bool IsPartitioned(Machine agent) const;
  Server server() const;

 private:
  void Run();
  void TellAgentLate(const std::shared_ptr<Connection>& stream);
  std::vector<std::shared_ptr<Connection>> StreamsOf(Machine agent, bool all);
  int64_t DrawBelow(int64_t bound);

  mutable Mutex mutex_;
  CondVar changed_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> events_ ABSL_GUARDED_BY(mutex_);  // by time and number
  uint64_t posted_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t messages_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<Connection>> streams_ ABSL_GUARDED_BY(mutex_);
  std::set<Machine> partitioned_ ABSL_GUARDED_BY(mutex_);
  std::map<Machine, std::vector<std::function<void()>>> held_ ABSL_GUARDED_BY(mutex_);
  std::map<Machine, Delay> delays_ ABSL_GUARDED_BY(mutex_);
  Server server_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SIMULATED_NETWORK_H_
