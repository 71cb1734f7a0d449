// A RAS service for tests: speaks NCCL's protocol on a port of the loopback, with an answer that the test chooses.
//
// Thread-safe. Serves one connection after the other on a thread of its own until it is destroyed.

#ifndef LOCKSTEP_AGENT_SOURCES_RAS_TESTING_FAKE_RAS_SERVER_H_
#define LOCKSTEP_AGENT_SOURCES_RAS_TESTING_FAKE_RAS_SERVER_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "agent/testing/loopback_server.h"
#include "base/mutex.h"

namespace lockstep {

class FakeRasServer {
 public:
  enum class Manner {
    kProper,
    kNoJson,    // does not know SET FORMAT, as NCCL 2.24 to 2.28.3
    kStranger,  // something else listens there
    kHangsUp,   // after the handshake
    kSilent,    // takes the question and never answers
  };

  explicit FakeRasServer(std::string answer, Manner manner = Manner::kProper);

  uint16_t port() const { return server_.port(); }

  // From the next question on.
  void Answer(std::string answer);

  // What clients have sent since the last call.
  std::string TakeReceived();

 private:
  void Serve(int connection, int stop);
  // The replies to one command; true = the conversation is over.
  bool Reply(const std::string& command, std::string& reply);

  const Manner manner_;
  Mutex mutex_;
  std::string answer_ ABSL_GUARDED_BY(mutex_);
  std::string received_ ABSL_GUARDED_BY(mutex_);
  LoopbackServer server_;  // last: it ends first
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RAS_TESTING_FAKE_RAS_SERVER_H_
