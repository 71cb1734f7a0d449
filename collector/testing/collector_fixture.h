// A whole collector over real loopback gRPC, with history in memory and a clock that tests may put forward.
//
// For the tests of a collector by what it is for: streams and restarts, health, queries. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TESTING_COLLECTOR_FIXTURE_H_
#define LOCKSTEP_COLLECTOR_TESTING_COLLECTOR_FIXTURE_H_

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/forward_clock.h"
#include "collector/alert/alert_receivers.h"
#include "collector/collector.h"
#include "collector/collector_options.h"
#include "collector/metrics.h"
#include "collector/store/testing/memory_store.h"
#include "collector/time_line.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {

class NoReceivers final : public AlertReceivers {
 public:
  std::vector<std::string> NamesFor(const IncidentEvent&) const override { return {}; }
  std::vector<AlertInheritance::Left> Inherit(const AlertInheritance&) override { return {}; }
  void Tell(const IncidentEvent& event, const ChangeId& id) override {}
  void NoteUntold(const wire::Incident&) override {}
  std::vector<std::string> NoteWritten(uint64_t ticket, uint64_t number) override { return {}; }
};

class CollectorFixture : public testing::Test {
 protected:
  void SetUp() override { StartCollector(); }
  void TearDown() override { store_.set_blocked(false); }

  // The next life of the collector, on the history of the one before.
  void StartCollector();

  double Dropped(const std::string& reason);
  // Of all shards, since the start.
  uint64_t Evaluations();

  absl::Duration host_silent_ = DetectorSettings().host_silent;
  ForwardClock clock_;
  TimeLine time_line_{clock_};
  MemoryStore store_;
  NoReceivers receivers_;
  std::unique_ptr<CollectorMetrics> metrics_;
  std::unique_ptr<Collector> collector_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Query::Stub> query_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_COLLECTOR_FIXTURE_H_
