// What tests that speak a protocol of their own to an agent listen with: a port of the loopback.
//
// Serves one connection after the other on a thread of its own until it is destroyed. What it serves with must outlive
// it: it is the last member of its owner. Thread-safe.

#ifndef LOCKSTEP_AGENT_TESTING_LOOPBACK_SERVER_H_
#define LOCKSTEP_AGENT_TESTING_LOOPBACK_SERVER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "agent/unique_fd.h"

namespace lockstep {

class LoopbackServer {
 public:
  // Called for each connection, which is closed afterwards. `stop` becomes readable when it has to return.
  using Serve = std::function<void(int connection, int stop)>;

  explicit LoopbackServer(Serve serve);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  uint16_t port() const { return port_; }

  // Waits for `events` of a connection; false = told to stop.
  static bool WaitFor(int connection, short events, int stop);

 private:
  void Run();

  const Serve serve_;
  const UniqueFd listener_;
  const UniqueFd stop_;  // an eventfd
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_TESTING_LOOPBACK_SERVER_H_
