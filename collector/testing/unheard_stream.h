// A stream of an agent that hears nothing of what it is told. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TESTING_UNHEARD_STREAM_H_
#define LOCKSTEP_COLLECTOR_TESTING_UNHEARD_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "collector/ingest/agent_ledger.h"
#include "proto/ingest.pb.h"

namespace lockstep {

class UnheardStream final : public AgentStream {
 public:
  void OnStored(uint64_t /*sequence*/) override {}
  void Resume() override {}
  bool Send(const wire::Command& /*command*/) override { return false; }
  std::string peer() const override { return "ipv4:10.0.0.7:40312"; }
  void Close(const absl::Status& /*status*/) override {}
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_UNHEARD_STREAM_H_
