// A collector inside the test: takes streams, stores reports, acknowledges them at once.

#ifndef LOCKSTEP_AGENT_TESTING_FAKE_COLLECTOR_H_
#define LOCKSTEP_AGENT_TESTING_FAKE_COLLECTOR_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/uplink/collector_stream.h"
#include "base/mutex.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// Outlives the uplink that uses it. Thread-safe.
class FakeCollector final : public CollectorConnector {
 public:
  std::unique_ptr<CollectorStream> Connect() override { return std::make_unique<Stream>(*this); }

  // While unreachable, every new stream is over at once, and one that is open with its next message. Reachable at
  // first.
  void set_reachable(bool reachable) {
    MutexLock lock(mutex_);
    reachable_ = reachable;
  }

  // Streams that are open take nothing any more, and their end is not told: their collector's machine has lost power.
  // New ones reach another collector.
  void LosePower() {
    MutexLock lock(mutex_);
    silent_streams_ = streams_;
  }

  // Sends `command` just before the next acknowledgement: who sees its report acknowledged has the command.
  void SendCommand(const wire::Command& command) {
    MutexLock lock(mutex_);
    commands_.push_back(command);
  }

  // Stored so far, in the order in which they came.
  std::vector<wire::AgentReport> reports() const {
    MutexLock lock(mutex_);
    return reports_;
  }
  // All that were said, in that order.
  std::vector<wire::AgentHello> hellos() const {
    MutexLock lock(mutex_);
    return hellos_;
  }
  // Whose reports() are.
  std::vector<uint64_t> incarnations() const {
    MutexLock lock(mutex_);
    return incarnations_;
  }

 private:
  class Stream final : public CollectorStream {
   public:
    explicit Stream(FakeCollector& collector)
        : collector_(collector), number_(collector.NextStream()), over_(!collector.reachable()) {}

    bool Write(const wire::AgentMessage& message) override {
      MutexLock lock(mutex_);
      while (!over_ && collector_.IsSilent(number_)) changed_.Wait(mutex_);
      if (over_ || !collector_.reachable()) return false;
      wire::CollectorMessage answer;
      if (message.has_hello()) {
        incarnation_ = message.hello().incarnation();
        collector_.Note(message.hello());
        answer.mutable_hello_ack()->set_stored_sequence(collector_.newest(incarnation_));
      } else {
        collector_.Store(incarnation_, message.report());
        for (wire::Command& command : collector_.TakeCommands()) {
          *answers_.emplace_back().mutable_command() = std::move(command);
        }
        answer.mutable_ack()->set_stored_sequence(message.report().sequence());
      }
      answers_.push_back(answer);
      changed_.NotifyAll();
      return true;
    }

    bool Read(wire::CollectorMessage& message) override {
      MutexLock lock(mutex_);
      while (answers_.empty() && !over_) changed_.Wait(mutex_);
      if (over_) return false;
      message = answers_.front();
      answers_.pop_front();
      return true;
    }

    void Cancel() override {
      MutexLock lock(mutex_);
      over_ = true;
      changed_.NotifyAll();
    }

    absl::Status Finish() override { return absl::UnavailableError("fake collector is not there"); }

   private:
    FakeCollector& collector_;
    const uint64_t number_;
    Mutex mutex_;  // taken before the collector's
    CondVar changed_;
    std::deque<wire::CollectorMessage> answers_ ABSL_GUARDED_BY(mutex_);
    bool over_ ABSL_GUARDED_BY(mutex_);
    uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  };

  uint64_t NextStream() {
    MutexLock lock(mutex_);
    return ++streams_;
  }
  bool IsSilent(uint64_t stream) const {
    MutexLock lock(mutex_);
    return stream <= silent_streams_;
  }
  bool reachable() const {
    MutexLock lock(mutex_);
    return reachable_;
  }
  uint64_t newest(uint64_t incarnation) const {
    MutexLock lock(mutex_);
    const auto found = newest_.find(incarnation);
    return found == newest_.end() ? 0 : found->second;
  }
  void Note(const wire::AgentHello& hello) {
    MutexLock lock(mutex_);
    hellos_.push_back(hello);
  }
  void Store(uint64_t incarnation, const wire::AgentReport& report) {
    MutexLock lock(mutex_);
    reports_.push_back(report);
    incarnations_.push_back(incarnation);
    newest_[incarnation] = report.sequence();
  }

  std::vector<wire::Command> TakeCommands() {
    MutexLock lock(mutex_);
    return std::exchange(commands_, {});
  }

  mutable Mutex mutex_;
  std::vector<wire::Command> commands_ ABSL_GUARDED_BY(mutex_);
  bool reachable_ ABSL_GUARDED_BY(mutex_) = true;
  uint64_t streams_ ABSL_GUARDED_BY(mutex_) = 0;         // so far, numbered from 1
  uint64_t silent_streams_ ABSL_GUARDED_BY(mutex_) = 0;  // the oldest of them
  std::vector<wire::AgentHello> hellos_ ABSL_GUARDED_BY(mutex_);
  std::vector<wire::AgentReport> reports_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> incarnations_ ABSL_GUARDED_BY(mutex_);  // of these
  std::map<uint64_t, uint64_t> newest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_TESTING_FAKE_COLLECTOR_H_
