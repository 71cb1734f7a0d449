#include "collector/hook/incident_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/testing/temporary_directory.h"
#include "collector/access/audit_log.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/alert_sink.h"
#include "collector/alert/testing/sample_incident.h"
#include "collector/incident/incident_book.h"
#include "collector/incident_index.h"
#include "collector/metrics.h"
#include "collector/store/testing/memory_store.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CountingSink final : public AlertSink {
 public:
  void Announce(const IncidentEvent& event) override { told.push_back(event.incident.id()); }
  std::vector<uint64_t> told;
};

class IncidentHookTest : public testing::Test {
 protected:
  IncidentHookTest() { spec_.command = Script("/usr/bin/cat >> " + Path("input")); }
  ~IncidentHookTest() override { hook_.reset(); }

  std::string Path(const char* name) const { return directory_.path() / name; }
  std::string Script(const std::string& text, mode_t mode = 0755) {
    std::ofstream(Path("script")) << "#!/bin/sh\n" << text << "\n";
    EXPECT_EQ(chmod(Path("script").c_str(), mode), 0);
    return Path("script");
  }

  // A collector that begins, with what history holds.
  void Begin() {
    hook_.reset();
    metrics_ = std::make_unique<CollectorMetrics>("test");
    audit_ = std::make_unique<AuditLog>("", RealClock(), store_, *metrics_, /*max_file_bytes=*/0);
    hook_ = std::make_unique<IncidentHook>(IncidentHook::Parts{next_, *audit_, store_, index_, RealClock(),
                                                               [this] { return known_hosts_; }, *metrics_->registry()});
    AlertRoutes routes;
    routes.hook = spec_;
    hook_->SetRoutes(routes);
  }

  void Open(
      uint64_t id, const std::string& host,
      const std::function<void(wire::Incident&)>& change = [](wire::Incident&) {}) {
    wire::Incident incident = SlowRank();
    incident.set_id(id);
    incident.mutable_verdict()->mutable_culprits(0)->set_host(host);
    change(incident);
    index_.Put(incident);
    hook_->Announce({IncidentEvent::Kind::kOpened, incident});
  }

  double Count(const std::string& outcome) const {
    for (const auto& family : metrics_->registry()->Collect()) {
      if (family.name != "lockstep_collector_hook_total") continue;
      for (const auto& metric : family.metric) {
        if (metric.label.at(0).value == outcome) return metric.counter.value;
      }
    }
    return -1;
  }
  void WaitFor(const std::string& outcome, double count = 1) const {
    while (Count(outcome) < count) std::this_thread::yield();
  }

  std::vector<std::string> Audited() {
    std::vector<std::string> lines;
    const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
    for (const wire::AuditRecord& record : records) {
      lines.insert(lines.begin(), absl::StrCat(record.action(), " ", record.of(), " ", record.outcome()));
    }
    return lines;
  }
  std::string Input() const {
    std::stringstream text;
    text << std::ifstream(Path("input")).rdbuf();
    return text.str();
  }

  const TemporaryDirectory directory_;
  MemoryStore store_;
  IncidentIndex index_{100};
  CountingSink next_;
  size_t known_hosts_ = 100;
  HookSpec spec_ = {.run = true, .matches = {AlertRoute()}, .every_ns = 1};
  std::unique_ptr<CollectorMetrics> metrics_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<IncidentHook> hook_;
};

TEST_F(IncidentHookTest, RunsTheProgramWithTheIncidentAndKeepsThatInTheAudit) {
  spec_.command = Script("/usr/bin/tee -a " + Path("input") + " | /usr/bin/wc -l");
  Begin();
  Open(42, "node-17");
  WaitFor("ok");
  const nlohmann::json input = nlohmann::json::parse(Input());
  EXPECT_EQ(input["version"], 1);
  EXPECT_EQ(input["incident"], 42);
  EXPECT_EQ(input["hosts"], nlohmann::json::array({"node-17"}));
  EXPECT_EQ(input["class"], "compute_slow");
  EXPECT_EQ(input["severity"], "warning");
  EXPECT_THAT(Audited(), ElementsAre("run_hook 42 node-17 ok", HasSubstr("hook_ended 42: 1")));
  EXPECT_THAT(next_.told, ElementsAre(42));
}

TEST_F(IncidentHookTest, ByDefaultItOnlySaysWhatItWouldRun) {
  spec_.run = HookSpec().run;
  Begin();
  Open(42, "node-17");
  WaitFor("dry_run");
  EXPECT_EQ(Input(), "");
  EXPECT_THAT(Audited(), IsEmpty());
}

TEST_F(IncidentHookTest, WhatDoesNotFitOrIsQuietOrInSomebodysHandsIsLeftAlone) {
  spec_.matches[0].classes = {"compute_slow"};
  Begin();
  Open(1, "a", [](wire::Incident& incident) { incident.mutable_verdict()->set_class_("link_slow"); });
  Open(2, "b", [](wire::Incident& incident) { incident.set_suspected(true); });
  Open(3, "c", [](wire::Incident& incident) { incident.mutable_acknowledgement()->set_by("alice"); });
  Open(4, "d", [](wire::Incident& incident) { incident.set_state(wire::Incident::STATE_RESOLVED); });
  Open(5, "e");
  WaitFor("ok");
  EXPECT_EQ(Count("over"), 2) << "3 and 4";
  EXPECT_THAT(Audited(), ElementsAre("run_hook 5 e ok", "hook_ended 5 ok"));
}

TEST_F(IncidentHookTest, LimitsHoldOverARestart) {
  spec_.max_per_hour = 2;
  Begin();
  Open(1, "a");
  WaitFor("ok");
  Begin();
  Open(2, "b");
  WaitFor("ok");
  Begin();
  Open(3, "c");
  WaitFor("run_limit");
  spec_.max_per_hour = 100;
  known_hosts_ = 40;
  Begin();
  Open(4, "d");
  WaitFor("share_limit");
  Open(5, "a");
  WaitFor("ok");
  EXPECT_THAT(Input(), testing::Not(HasSubstr("\"incident\":3")));
}

TEST_F(IncidentHookTest, NothingIsRunThatHistoryWouldNotRemember) {
  Begin();
  store_.set_refuses(true);
  Open(1, "a");
  WaitFor("not_remembered");
  EXPECT_EQ(Input(), "");
  store_.set_refuses(false);
  Open(2, "b");
  WaitFor("ok");
}

TEST_F(IncidentHookTest, AProgramThatOthersMayHaveWrittenIsNotRun) {
  Begin();
  ASSERT_EQ(chmod(spec_.command.c_str(), 0777), 0);
  Open(1, "a");
  WaitFor("refused");
  EXPECT_EQ(Input(), "");
  EXPECT_THAT(Audited(), ElementsAre(HasSubstr("others than its owner may write it")));
}

TEST_F(IncidentHookTest, FailuresAndTimeOutsAreToldApart) {
  spec_.command = Script("/usr/bin/grep -q node-a || exec /usr/bin/sleep 3600; echo sorry; exit 7");
  spec_.timeout_ns = 1'000'000'000;
  Begin();
  Open(1, "node-a");
  WaitFor("failed");
  EXPECT_THAT(Audited().back(), HasSubstr("hook_ended 1: sorry exit code 7"));
  Open(2, "node-b");
  WaitFor("timed_out");
  EXPECT_THAT(Audited().back(), HasSubstr("its time was over"));
}

TEST_F(IncidentHookTest, ItsEnvironmentIsWhatTheSpecSays) {
  spec_.command = Script("/usr/bin/env > " + Path("input"));
  spec_.environment = {"PATH=/opt/bin", "KUBECONFIG=/etc/k"};
  Begin();
  Open(1, "a");
  WaitFor("ok");
  EXPECT_THAT(Input(), HasSubstr("PATH=/opt/bin\n"));
  EXPECT_THAT(Input(), HasSubstr("KUBECONFIG=/etc/k\n"));
  EXPECT_THAT(Input(), HasSubstr("LANG=C.UTF-8\n"));
  EXPECT_THAT(Input(), testing::Not(HasSubstr("/usr/bin:")));
}

TEST_F(IncidentHookTest, NobodyWaitsForAProgramThatHangs) {
  spec_.command = Script("exec /usr/bin/sleep 3600");
  spec_.timeout_ns = int64_t{3'600} * 1'000'000'000;
  Begin();
  Open(1, "a");
  while (Audited().empty()) std::this_thread::yield();  // it runs
  for (uint64_t id = 2; id <= IncidentHook::kMaxWaiting + 2; ++id) Open(id, "a");
  EXPECT_EQ(next_.told.size(), IncidentHook::kMaxWaiting + 2);
  WaitFor("dropped");
  hook_->Close();
}

}  // namespace
}  // namespace lockstep
