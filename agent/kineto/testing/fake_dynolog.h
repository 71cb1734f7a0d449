// A server that speaks dynolog's RPC as dynolog_message.h says, or does not, as a test wants.

#ifndef LOCKSTEP_AGENT_KINETO_TESTING_FAKE_DYNOLOG_H_
#define LOCKSTEP_AGENT_KINETO_TESTING_FAKE_DYNOLOG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/testing/loopback_server.h"
#include "base/mutex.h"

namespace lockstep {

// Listens on 127.0.0.1 until destroyed, one connection at a time. Thread-safe.
class FakeDynolog {
 public:
  // What to send to whoever connects, once his question is read; nothing = answer the question.
  using Misbehave = std::function<void(int connection)>;

  explicit FakeDynolog(Misbehave misbehave = nullptr);

  int port() const { return server_.port(); }

  // A process registers with its job, by the pids of itself and its ancestors.
  void Register(int64_t job, std::vector<int32_t> pids);

  // The order of a process, once.
  std::string TakeOrder(int32_t pid);

  // The questions that have come, as JSON.
  std::vector<std::string> questions() const;

  static void Send(int connection, const std::string& bytes);
  // `text` with its length before it.
  static std::string Framed(const std::string& text);

 private:
  struct Process {
    int64_t job = 0;
    std::vector<int32_t> pids;  // its own first
    std::string order;
  };

  void Serve(int connection);
  // What dynolog answers; "" = it hangs up.
  std::string AnswerTo(const std::string& question);

  const Misbehave misbehave_;
  mutable Mutex mutex_;
  std::vector<Process> processes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> questions_ ABSL_GUARDED_BY(mutex_);
  LoopbackServer server_;  // last: it ends first
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_KINETO_TESTING_FAKE_DYNOLOG_H_
