#include "tests/faults/connection.h"

#include <algorithm>
#include <utility>

namespace lockstep::faults {

bool Connection::is_over() const {
  MutexLock lock(mutex_);
  return agent_over_ && (pool_ == nullptr || done_);
}

void Connection::SendToCollector(std::function<void(Connection&)> arrive) {
  int64_t at_ns = 0;
  {
    MutexLock lock(mutex_);
    at_ns = last_at_collector_ns_ = network_.ArrivalTime(agent_, last_at_collector_ns_);
  }
  network_.Post(at_ns, [self = shared_from_this(), arrive = std::move(arrive)] {
    self->network_.Arrive(self->agent_, [self, arrive] { arrive(*self); });
  });
}

void Connection::SendToAgent(std::function<void(Connection&)> arrive) {
  int64_t at_ns = 0;
  {
    MutexLock lock(mutex_);
    at_ns = last_at_agent_ns_ = network_.ArrivalTime(agent_, last_at_agent_ns_);
  }
  network_.Post(at_ns, [self = shared_from_this(), arrive = std::move(arrive)] {
    self->network_.Arrive(self->agent_, [self, arrive] { arrive(*self); });
  });
}

void Connection::Open() {
  SendToCollector([](Connection& self) {
    const SimulatedNetwork::Server server = self.network_.server();
    if (server.service != nullptr) return self.Accept(server);
    self.SendToAgent([](Connection& agents) { agents.EndAtAgent(absl::UnavailableError("simulated: refused")); });
  });
  // A machine that cannot be reached says nothing at all.
  network_.Post(WorldNanos() + SimulatedNetwork::kConnectTimeoutNanos, [weak = weak_from_this()] {
    const std::shared_ptr<Connection> self = weak.lock();
    if (self == nullptr || !self->network_.IsPartitioned(self->agent_)) return;
    bool is_accepted = false;
    {
      MutexLock lock(self->mutex_);
      is_accepted = self->pool_ != nullptr;
    }
    if (!is_accepted) self->EndAtAgent(absl::UnavailableError("simulated: no route"));
  });
}

void Connection::Accept(const SimulatedNetwork::Server& server) {
  MutexLock lock(mutex_);
  if (collector_over_) return;
  pool_ = server.pool;
  ++reactions_;
  pool_->Add([self = shared_from_this(), service = server.service] {
    self->reactor_ = service->Stream(&self->context_);
    // gRPC holds a lock of its own meanwhile, of which the world knows nothing: nobody may want it.
    hooks::HoldFloor(1);
    self->BindReactor(self->reactor_);
    hooks::HoldFloor(-1);
    MutexLock bound(self->mutex_);
    self->is_bound_ = true;
    self->changed_.NotifyAll();
    --self->reactions_;
    self->MaybeDoneLocked();
  });
}

bool Connection::AgentWrite(const wire::AgentMessage& message) {
  {
    MutexLock lock(mutex_);
    while (!agent_over_ && unread_ >= SimulatedNetwork::kWindow) changed_.Wait(mutex_);
    if (agent_over_) return false;
    ++unread_;
  }
  network_.CountMessage();
  SendToCollector([message](Connection& self) {
    MutexLock lock(self.mutex_);
    if (self.collector_over_) return;
    self.arrived_.push_back(message);
    self.PumpLocked();
  });
  return true;
}

bool Connection::AgentRead(wire::CollectorMessage& message) {
  MutexLock lock(mutex_);
  while (answers_.empty() && !agent_over_) changed_.Wait(mutex_);
  if (answers_.empty()) return false;
  message = std::move(answers_.front());
  answers_.pop_front();
  return true;
}

void Connection::AgentCancel() {
  EndAtAgent(absl::CancelledError("simulated: cancelled"));
  SendToCollector([](Connection& self) { self.EndAtCollector(); });
}

absl::Status Connection::AgentFinish() {
  MutexLock lock(mutex_);
  return agent_status_;
}

void Connection::EndAtAgent(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (agent_over_) return;
  agent_over_ = true;
  agent_status_ = status;
  changed_.NotifyAll();
}

void Connection::EndAtCollector() {
  MutexLock lock(mutex_);
  if (std::exchange(collector_over_, true)) return;
  if (pool_ == nullptr || finished_) return;
  PostLocked([](Connection& self) {
    if (self.reactor_ != nullptr) self.reactor_->OnCancel();
  });
  PumpLocked();
}

void Connection::Read(wire::AgentMessage* message) {
  MutexLock lock(mutex_);
  reading_ = message;
  PumpLocked();
}

void Connection::PumpLocked() {
  if (reading_ == nullptr) return;
  const bool has_ended = collector_over_ || finished_;
  if (arrived_.empty() && !has_ended) return;
  if (!has_ended) {
    *reading_ = std::move(arrived_.front());
    arrived_.pop_front();
    --unread_;
    changed_.NotifyAll();
  }
  reading_ = nullptr;
  PostLocked([has_ended](Connection& self) { self.reactor_->OnReadDone(!has_ended); });
}

void Connection::Write(const wire::CollectorMessage* message, grpc::WriteOptions) {
  bool has_ended = false;
  {
    MutexLock lock(mutex_);
    has_ended = collector_over_;
    PostLocked([has_ended](Connection& self) { self.reactor_->OnWriteDone(!has_ended); });
  }
  if (has_ended) return;
  network_.CountMessage();
  SendToAgent([answer = *message](Connection& self) {
    MutexLock lock(self.mutex_);
    if (self.agent_over_) return;
    self.answers_.push_back(answer);
    self.changed_.NotifyAll();
  });
}

void Connection::WriteAndFinish(const wire::CollectorMessage* message, grpc::WriteOptions options,
                                grpc::Status status) {
  Write(message, options);
  Finish(std::move(status));
}

void Connection::Finish(grpc::Status status) {
  {
    MutexLock lock(mutex_);
    finished_ = true;
    PumpLocked();
    PostLocked([](Connection&) {});  // OnDone, if nothing else is under way
    if (collector_over_) return;
  }
  SendToAgent([status](Connection& self) {
    self.EndAtAgent(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()));
  });
}

void Connection::PostLocked(std::function<void(Connection&)> reaction) {
  ++reactions_;
  pool_->Add([self = shared_from_this(), reaction = std::move(reaction)] {
    {
      MutexLock lock(self->mutex_);
      while (!self->is_bound_) self->changed_.Wait(self->mutex_);
    }
    reaction(*self);
    MutexLock lock(self->mutex_);
    --self->reactions_;
    self->MaybeDoneLocked();
  });
}

void Connection::MaybeDoneLocked() {
  if (!finished_ || reactions_ > 0 || done_) return;
  done_ = true;
  pool_->Add([self = shared_from_this()] { self->reactor_->OnDone(); });
}

}  // namespace lockstep::faults
