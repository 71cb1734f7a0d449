#include "sim/feed/host_stream.h"

#include <algorithm>
#include <utility>

namespace lockstep {

HostStream::HostStream(wire::Ingest::Stub& stub, const wire::AgentHello& hello) {
  stub.async()->Stream(&context_, this);
  wire::AgentMessage first;
  *first.mutable_hello() = hello;
  {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(first));
    WriteNext();
  }
  // What is written from outside of the reactor's own callbacks needs a hold until the last write.
  AddHold();
  StartRead(&incoming_);
  StartCall();
}

HostStream::~HostStream() {
  const MutexLock lock(mutex_);
  while (!ended_) changed_.Wait(mutex_);
}

void HostStream::Send(wire::AgentReport report) {
  const MutexLock lock(mutex_);
  if (finishing_ || broken_ || queue_.size() >= kMaxQueuedReports) {
    ++dropped_;
    return;
  }
  wire::AgentMessage message;
  *message.mutable_report() = std::move(report);
  queue_.push_back(std::move(message));
  if (queue_.size() == 1) WriteNext();
}

void HostStream::WriteNext() {
  if (!queue_.empty() && !broken_) {
    StartWrite(&queue_.front());
  } else if ((finishing_ || broken_) && !writes_done_) {
    writes_done_ = true;
    StartWritesDone();
    RemoveHold();
  }
}

void HostStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  queue_.pop_front();
  if (!ok) {
    broken_ = true;
    dropped_ += queue_.size();
    queue_.clear();
  }
  WriteNext();
}

void HostStream::OnReadDone(bool ok) {
  if (!ok) {
    // The collector sends no more, now or ever: nothing that is written will be stored for certain.
    const MutexLock lock(mutex_);
    broken_ = true;
    if (queue_.empty()) WriteNext();
    return;
  }
  {
    const MutexLock lock(mutex_);
    if (incoming_.has_hello_ack()) acknowledged_ = stored_before_ = incoming_.hello_ack().stored_sequence();
    if (incoming_.has_ack()) acknowledged_ = std::max(acknowledged_, incoming_.ack().stored_sequence());
    if (incoming_.has_command() && commands_.size() < kMaxCommands) commands_.push_back(incoming_.command());
    changed_.NotifyAll();
  }
  StartRead(&incoming_);
}

void HostStream::OnDone(const grpc::Status& status) {
  const MutexLock lock(mutex_);
  ended_ = true;
  if (!status.ok()) error_ = status.error_message();
  changed_.NotifyAll();
}

void HostStream::Finish() {
  const MutexLock lock(mutex_);
  if (finishing_) return;
  finishing_ = true;
  if (queue_.empty()) WriteNext();
}

std::vector<wire::Command> HostStream::TakeCommands() {
  const MutexLock lock(mutex_);
  return std::exchange(commands_, {});
}

bool HostStream::ended() const {
  const MutexLock lock(mutex_);
  return ended_ || broken_;
}

uint64_t HostStream::stored_before() const {
  const MutexLock lock(mutex_);
  return stored_before_;
}

uint64_t HostStream::acknowledged() const {
  const MutexLock lock(mutex_);
  return acknowledged_;
}

std::string HostStream::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

uint64_t HostStream::dropped() const {
  const MutexLock lock(mutex_);
  return dropped_;
}

}  // namespace lockstep
