// A whole collector with keys, over real TLS, and rules that say who may do what.
//
// For the tests of who gets in, of what tenants see, of what operators do, and of what the audit keeps. Not
// thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TESTING_SECURED_COLLECTOR_H_
#define LOCKSTEP_COLLECTOR_TESTING_SECURED_COLLECTOR_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "base/testing/forward_clock.h"
#include "base/testing/temporary_directory.h"
#include "collector/collector.h"
#include "collector/collector_options.h"
#include "collector/metrics.h"
#include "collector/store/history_backups.h"
#include "collector/store/history_store.h"
#include "collector/store/testing/memory_store.h"
#include "collector/testing/collector_fixture.h"
#include "collector/time_line.h"
#include "daemon/tls/testing/test_keys.h"

namespace lockstep {

// Viewer, operator and admin by these common names; vision (viewer) and speaker (operator) of tenants with the jobs
// vision-* and speech-*; agents by SPIFFE id, those of vision believed of some jobs alone.
extern const char kSecuredRules[];

class SecuredCollector : public testing::Test {
 protected:
  void SetUp() override;

  // The next life of the collector, on `store_` or on another history, ready.
  void Start() { StartOn(store_); }
  void StartOn(HistoryStore& history, HistoryBackups* backups = nullptr);

  std::shared_ptr<grpc::Channel> Connect(const TlsFiles& files);
  std::shared_ptr<grpc::Channel> ConnectAs(const std::string& common_name);
  std::shared_ptr<grpc::Channel> ConnectAgent(const std::string& host);

  // How a method is answered that gets an empty message. One that is let in may fail in any other way.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, absl::string_view method);
  static bool IsRefusal(const grpc::Status& status);

  // The counter of that name whose first label has that value; 0 = there is none.
  double Counter(const std::string& name, const std::string& label);

  TemporaryDirectory directory_;
  TestAuthority authority_{directory_.path(), "fleet"};
  CollectorOptions options_;
  ForwardClock clock_;
  TimeLine time_line_{clock_};
  MemoryStore store_;
  NoReceivers receivers_;
  CollectorMetrics metrics_{"test"};
  std::unique_ptr<Collector> collector_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_SECURED_COLLECTOR_H_
