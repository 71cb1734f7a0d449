#include "tests/faults/simulated_network.h"

#include <algorithm>

#include "absl/status/status.h"
#include "tests/faults/connection.h"

namespace lockstep::faults {
namespace {

class AgentEnd final : public CollectorStream {
 public:
  explicit AgentEnd(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~AgentEnd() override { connection_->AgentCancel(); }

  bool Write(const wire::AgentMessage& message) override { return connection_->AgentWrite(message); }
  bool Read(wire::CollectorMessage& message) override { return connection_->AgentRead(message); }
  void Cancel() override { connection_->AgentCancel(); }
  absl::Status Finish() override { return connection_->AgentFinish(); }

 private:
  const std::shared_ptr<Connection> connection_;
};

absl::Status Lost() { return absl::UnavailableError("simulated: connection lost"); }

}  // namespace

SimulatedNetwork::SimulatedNetwork(const Random& random) : random_(random), thread_([this] { Run(); }) {}

SimulatedNetwork::~SimulatedNetwork() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void SimulatedNetwork::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (events_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const int64_t left_ns = events_.begin()->first.first - WorldNanos();
    if (left_ns > 0) {
      changed_.WaitFor(mutex_, left_ns);
      continue;
    }
    const std::function<void()> event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    mutex_.Unlock();
    event();
    mutex_.Lock();
  }
}

void SimulatedNetwork::Post(int64_t world_ns, std::function<void()> event) {
  MutexLock lock(mutex_);
  events_.emplace(std::pair(world_ns, ++posted_), std::move(event));
  changed_.NotifyOne();
}

int64_t SimulatedNetwork::DrawBelow(int64_t bound) {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(bound)));
}

int64_t SimulatedNetwork::ArrivalTime(Machine agent, int64_t not_before_ns) {
  MutexLock lock(mutex_);
  const auto found = delays_.find(agent);
  const Delay delay = found == delays_.end() ? Delay() : found->second;
  const auto spread = static_cast<uint64_t>(delay.most_ns - delay.least_ns + 1);
  return std::max(not_before_ns, WorldNanos() + delay.least_ns + static_cast<int64_t>(random_.Below(spread)));
}

std::unique_ptr<CollectorStream> SimulatedNetwork::Connect() {
  auto connection = std::make_shared<Connection>(*this, CurrentMachine());
  {
    MutexLock lock(mutex_);
    streams_.erase(std::remove_if(streams_.begin(), streams_.end(), [](const auto& weak) { return weak.expired(); }),
                   streams_.end());
    streams_.push_back(connection);
  }
  connection->Open();
  return std::make_unique<AgentEnd>(std::move(connection));
}

std::vector<std::shared_ptr<Connection>> SimulatedNetwork::StreamsOf(Machine agent, bool all) {
  std::vector<std::shared_ptr<Connection>> found;
  MutexLock lock(mutex_);
  for (const auto& weak : streams_) {
    std::shared_ptr<Connection> stream = weak.lock();
    if (stream != nullptr && (all || stream->agent() == agent)) found.push_back(std::move(stream));
  }
  return found;
}

void SimulatedNetwork::Serve(const Server& server) {
  MutexLock lock(mutex_);
  server_ = server;
}

void SimulatedNetwork::StopServing(bool is_told) {
  Serve({});
  for (const std::shared_ptr<Connection>& stream : StreamsOf(0, /*all=*/true)) {
    stream->EndAtCollector();
    if (is_told) {
      Post(ArrivalTime(stream->agent(), 0), [stream] { stream->EndAtAgent(Lost()); });
    } else {
      TellAgentLate(stream);
    }
  }
}

void SimulatedNetwork::TellAgentLate(const std::shared_ptr<Connection>& stream) {
  if (DrawBelow(kUntoldOneIn) == 0) return;
  Post(WorldNanos() + DrawBelow(kLateNanos), [stream] { stream->EndAtAgent(Lost()); });
}

void SimulatedNetwork::Break(Machine agent, Told told) {
  for (const std::shared_ptr<Connection>& stream : StreamsOf(agent, /*all=*/false)) {
    if (told == Told::kCollector) {
      TellAgentLate(stream);
    } else {
      Post(WorldNanos(), [stream] { stream->EndAtAgent(Lost()); });
    }
    Post(WorldNanos() + (told == Told::kAgent ? DrawBelow(kLateNanos) : 0), [stream] { stream->EndAtCollector(); });
  }
}

void SimulatedNetwork::Abandon(Machine agent, bool is_told) {
  for (const std::shared_ptr<Connection>& stream : StreamsOf(agent, /*all=*/false)) {
    stream->EndAtAgent(Lost());
    Post(WorldNanos() + (is_told ? 0 : DrawBelow(kLateNanos)), [stream] { stream->EndAtCollector(); });
  }
}

void SimulatedNetwork::Arrive(Machine agent, std::function<void()> event) {
  {
    MutexLock lock(mutex_);
    if (partitioned_.count(agent) != 0) {
      held_[agent].push_back(std::move(event));
      return;
    }
  }
  event();
}

void SimulatedNetwork::SetPartitioned(Machine agent, bool partitioned) {
  std::vector<std::function<void()>> held;
  {
    MutexLock lock(mutex_);
    if (partitioned) {
      partitioned_.insert(agent);
    } else {
      partitioned_.erase(agent);
      held.swap(held_[agent]);
    }
  }
  // Before all that is still on its way: a stream keeps its order.
  for (std::function<void()>& event : held) Post(0, std::move(event));
}

void SimulatedNetwork::SetDelay(Machine agent, const Delay& delay) {
  MutexLock lock(mutex_);
  delays_[agent] = delay;
}

bool SimulatedNetwork::IsPartitioned(Machine agent) const {
  MutexLock lock(mutex_);
  return partitioned_.count(agent) != 0;
}

SimulatedNetwork::Server SimulatedNetwork::server() const {
  MutexLock lock(mutex_);
  return server_;
}

void SimulatedNetwork::CountMessage() {
  MutexLock lock(mutex_);
  ++messages_;
}

uint64_t SimulatedNetwork::messages() const {
  MutexLock lock(mutex_);
  return messages_;
}

size_t SimulatedNetwork::streams() const {
  MutexLock lock(mutex_);
  size_t living = 0;
  for (const auto& weak : streams_) {
    const std::shared_ptr<Connection> stream = weak.lock();
    living += stream != nullptr && !stream->is_over() ? 1 : 0;
  }
  return living;
}

}  // namespace lockstep::faults
