// What a collector keeps of who changed what: by calls, by files, by a reload, by a backup.

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "base/testing/status_matchers.h"
#include "collector/access/audit_log.h"
#include "collector/admin_service.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/alert_routes_yaml.h"
#include "collector/collector.h"
#include "collector/store/history_backups.h"
#include "collector/store/rocks_store.h"
#include "collector/testing/secured_collector.h"
#include "proto/admin.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class CollectorAuditTest : public SecuredCollector {
 protected:
  grpc::Status Acknowledge(const std::string& who, uint64_t id, const std::string& note, wire::Incident* now) {
    grpc::ClientContext context;
    wire::AcknowledgeRequest request;
    request.set_incident(id);
    request.set_note(note);
    return wire::Admin::NewStub(ConnectAs(who))->Acknowledge(&context, request, now);
  }

  wire::ListAuditResponse Audit(const std::string& who, const wire::ListAuditRequest& request) {
    grpc::ClientContext context;
    wire::ListAuditResponse response;
    const grpc::Status status = wire::Admin::NewStub(ConnectAs(who))->ListAudit(&context, request, &response);
    EXPECT_EQ(status.ok(), who == "admin") << status.error_message();
    return response;
  }
};

TEST_F(CollectorAuditTest, WhoChangesWhatIsKept) {
  options_.audit_file = directory_.Write("audit.log", "before\n").string();
  Start();
  ASSERT_OK(SetLogThreshold("error"));
  testing::internal::CaptureStderr();
  const auto admin = wire::Admin::NewStub(ConnectAs("admin"));
  wire::ForgetHostRequest request;
  request.set_host("node\n1");
  wire::ForgetHostResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(admin->ForgetHost(&context, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_OK(SetLogThreshold("info"));
  std::stringstream file;
  file << std::ifstream(options_.audit_file).rdbuf();
  const std::string kept = file.str();
  EXPECT_THAT(kept, ContainsRegex("^before\nlevel=info at=[^ ]+ msg=\"audit\" action=forget_host "
                                  "of=\"node.*1\" by=\"certificate admin\" from=ipv4:127.* outcome=.*node"));
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 2) << "a name forges no line";
  EXPECT_THAT(log, HasSubstr("msg=\"audit\"")) << "whatever the level of the log";
  options_.audit_file = directory_.path();
  EXPECT_THAT(Collector::Start(options_, {clock_, time_line_, store_, receivers_, metrics_}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be appended to")));
}

TEST_F(CollectorAuditTest, AFileThatHasItsBytesIsRenamedAndTheFormerOneGoesAndIsCounted) {
  options_.audit_file = (directory_.path() / "audit.log").string();
  AuditLog audit(options_.audit_file, clock_, store_, metrics_, /*max_file_bytes=*/1'000);
  const auto note = [&](int number) {
    audit.Note("alice", "here", "try", absl::StrCat("thing-", number), absl::OkStatus()).IgnoreError();
  };
  const auto text = [](const std::string& path) {
    std::stringstream file;
    file << std::ifstream(path).rdbuf();
    return file.str();
  };
  for (int number = 1; number <= 40; ++number) note(number);
  const std::string newest = text(options_.audit_file);
  const std::string former = text(options_.audit_file + ".1");
  EXPECT_THAT(newest, HasSubstr("thing-40 "));
  EXPECT_LE(newest.size(), 1'000u);
  EXPECT_GT(former.size(), 500u);
  EXPECT_LE(former.size(), 1'000u);
  const int in_files =
      static_cast<int>(std::count(newest.begin(), newest.end(), '\n') + std::count(former.begin(), former.end(), '\n'));
  EXPECT_THAT(former, HasSubstr(absl::StrCat("thing-", 41 - in_files, " "))) << "the newest ones, one after the other";
  EXPECT_GT(Counter("lockstep_collector_dropped_total", "audit_file"), 0);
}

TEST_F(CollectorAuditTest, FilesThatSayWhoGetsInAreInTheAuditWheneverTheyChange) {
  const auto kept = [&] {
    std::vector<std::string> lines;
    const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
    for (const wire::AuditRecord& record : records) {
      if (record.action() != "refused_call") lines.push_back(absl::StrCat(record.action(), " ", record.from()));
    }
    return lines;
  };
  const auto await = [&](size_t count) {
    while (kept().size() < count) StopSignal().WaitFor(kNanosPerMilli);
  };
  collector_->Housekeep();
  await(2);
  EXPECT_THAT(kept(), UnorderedElementsAre("change_access_rules file, found at the start",
                                           "change_authorities file, found at the start"));
  const std::string before = store_.LoadAudit()->at(0).of();
  directory_.Write("access.yaml", absl::StrCat(kSecuredRules, "# another\n"));
  collector_->Housekeep();
  collector_->Housekeep();
  await(3);
  const wire::AuditRecord newest = store_.LoadAudit()->at(0);
  EXPECT_THAT(newest.of(), ContainsRegex("access.yaml sha256:[0-9a-f]{64}$"));
  EXPECT_NE(newest.of(), before);
  EXPECT_EQ(newest.by(), "") << "who writes files is not known";

  directory_.Write("access.yaml", "tokens: nonsense\n");
  collector_->Housekeep();
  directory_.Write("access.yaml", absl::StrCat(kSecuredRules, "# another\n"));
  Start();
  collector_->Housekeep();
  collector_.reset();  // waits for what is to be kept
  EXPECT_EQ(kept().size(), 3u) << "neither what was not taken on nor a start with the same files";
  directory_.Write("access.yaml", kSecuredRules);
  Start();
  collector_->Housekeep();
  collector_.reset();
  EXPECT_EQ(kept().size(), 4u) << "a change while nobody looked";
  EXPECT_EQ(kept().at(0), "change_access_rules file, found at the start");
}

TEST_F(CollectorAuditTest, WhoIsToldAndWhoIsMissedIsInTheAuditWheneverItChanges) {
  options_.inventory = directory_.Write("fleet", "node-1\n").string();
  options_.pages.web_config = directory_.Write("web.yaml", "").string();
  const auto routes = [this](const std::string& url) {
    const std::string text =
        absl::StrCat("receivers: [{name: a, type: webhook, url: '", url, "'}]\nroutes: [{receivers: [a]}]\n");
    const absl::StatusOr<AlertRoutes> read = LoadAlertRoutes(directory_.Write("alerts.yaml", text).string(), "");
    EXPECT_OK(read);
    return read.value_or(AlertRoutes());
  };
  const auto kept = [this] {
    std::vector<std::string> lines;
    const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
    for (const wire::AuditRecord& record : records) {
      const bool is_other = record.action() == "change_access_rules" || record.action() == "change_authorities";
      if (!is_other) lines.push_back(absl::StrCat(record.action(), " ", record.from()));
    }
    return lines;
  };
  Start();
  collector_->SetHook(routes("https://a.example.org"));
  collector_->Housekeep();
  collector_->SetHook(routes("https://b.example.org"));
  directory_.Write("fleet", "node-1\nnode-2\n");
  collector_->Housekeep();
  EXPECT_OK(collector_->ReadInventory(options_.inventory));
  directory_.Write("fleet", "no name\n");
  EXPECT_FALSE(collector_->ReadInventory(options_.inventory).ok());
  directory_.Write("web.yaml", "rate_limit: {interval: 1s, burst: 9}\n");
  for (int i = 0; i < 3; ++i) collector_->Housekeep();
  collector_.reset();  // waits for what is to be kept
  EXPECT_THAT(kept(), UnorderedElementsAre("change_alert_routes file, found at the start",
                                           "change_inventory file, found at the start",
                                           "change_web_config file, found at the start", "change_alert_routes file",
                                           "change_inventory file", "change_web_config file"));
  directory_.Write("fleet", "node-1\nnode-2\n");
  Start();
  collector_->SetHook(routes("https://b.example.org"));
  collector_->Housekeep();
  collector_.reset();
  EXPECT_EQ(kept().size(), 6u) << "a start with the same files";
  Start();
  collector_->SetHook(routes("https://c.example.org"));
  collector_->Housekeep();
  collector_.reset();
  EXPECT_EQ(kept().at(0), "change_alert_routes file, found at the start") << "a change while nobody looked";
}

TEST_F(CollectorAuditTest, WhatAReloadCameToIsInTheAudit) {
  collector_->NoteReload({}, 7);
  collector_->NoteReload({.applied = {"log_level", "webhook_url"}, .need_restart = {"shards"}}, 7);
  collector_->NoteReload({.problems = {"collector.yaml:2: shards: must be from 1 to 64"}}, 8);
  collector_.reset();
  const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
  ASSERT_EQ(records.size(), 2u) << "what changes nothing is no change";
  EXPECT_EQ(records[1].action(), "reload_settings");
  EXPECT_EQ(records[1].of(), "applied: log_level webhook_url; need a restart: shards");
  EXPECT_EQ(records[1].by(), "uid 7");
  EXPECT_EQ(records[1].outcome(), "ok");
  EXPECT_THAT(records[0].outcome(), HasSubstr("must be from 1 to 64"));
}

TEST_F(CollectorAuditTest, BackupsAreForAdminsAreCountedAndKeptLikeOtherChanges) {
  options_.audit_file = directory_.Write("audit.log", "").string();
  const auto history = OpenRocksStore({.directory = directory_.path() / "history"}, clock_);
  ASSERT_OK(history);
  HistoryBackups backups({.directory = directory_.path() / "backups"}, **history, clock_);
  StartOn(**history, &backups);
  EXPECT_EQ(Call(ConnectAs("operator"), "lockstep.wire.Admin.Backup").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  const auto admin = wire::Admin::NewStub(ConnectAs("admin"));
  grpc::ClientContext context;
  wire::BackupResponse response;
  ASSERT_TRUE(admin->Backup(&context, {}, &response).ok());
  EXPECT_THAT(response.directory(), HasSubstr("/backups/history-"));
  EXPECT_OK(OpenRocksStore({.directory = response.directory()}, clock_));
  EXPECT_EQ(Counter("lockstep_collector_backups_total", "ok"), 1);
  std::stringstream file;
  file << std::ifstream(options_.audit_file).rdbuf();
  EXPECT_THAT(file.str(), HasSubstr("action=backup of=" + response.directory() + " by=\"certificate admin\""));
  collector_.reset();
}

TEST_F(CollectorAuditTest, OperatorsAcknowledgeIncidentsDurablyAndAdminsSeeWhoDid) {
  const auto history = OpenRocksStore({.directory = directory_.path() / "history"}, clock_);
  ASSERT_OK(history);
  wire::Incident incident;
  incident.set_id(7);
  incident.set_job("vision-1");
  incident.set_key("cause");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(clock_.WallNanos());
  ASSERT_OK((*history)->PutIncident(incident));
  StartOn(**history);
  wire::Incident now;
  EXPECT_EQ(Acknowledge("viewer", 7, "", &now).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Acknowledge("speaker", 7, "", &now).error_code(), grpc::StatusCode::NOT_FOUND) << "of another tenant";
  EXPECT_EQ(Acknowledge("operator", 8, "", &now).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Acknowledge("operator", 7, "two\nlines", &now).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Acknowledge("operator", 7, std::string(kMaxNoteBytes + 1, 'x'), &now).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  const grpc::Status done = Acknowledge("operator", 7, "drained", &now);
  ASSERT_TRUE(done.ok()) << done.error_message();
  EXPECT_EQ(now.acknowledgement().by(), "certificate operator");
  EXPECT_EQ((*history)->LoadIncidents()->at(0).acknowledgement().note(), "drained") << "before it is answered";

  StartOn(**history);
  grpc::ClientContext show_context;
  wire::GetIncidentRequest show;
  show.set_id(7);
  wire::Incident shown;
  ASSERT_TRUE(wire::Query::NewStub(ConnectAs("viewer"))->GetIncident(&show_context, show, &shown).ok());
  EXPECT_EQ(shown.acknowledgement().SerializeAsString(), now.acknowledgement().SerializeAsString());

  EXPECT_EQ(Audit("operator", {}).records_size(), 0);
  wire::ListAuditRequest request;
  std::vector<std::string> lines;
  while (lines.size() < 7) {  // refusals are written soon
    lines.clear();
    const wire::ListAuditResponse kept = Audit("admin", request);
    for (const wire::AuditRecord& record : kept.records()) {
      lines.push_back(absl::StrCat(record.action(), "|", record.of(), "|", record.by(), "|", record.outcome()));
    }
  }
  EXPECT_THAT(lines, ElementsAre(HasSubstr("refused_call|lockstep.wire.Admin.ListAudit||certificate operator has the"),
                                 "acknowledge|incident 7|certificate operator|ok", HasSubstr("|note"),
                                 HasSubstr("|note"), HasSubstr("incident 8|certificate operator|no incident 8"),
                                 HasSubstr("incident 7|certificate speaker|no incident 7"),
                                 HasSubstr("refused_call|lockstep.wire.Admin.Acknowledge||certificate viewer has")));
  request.set_limit(2);
  EXPECT_EQ(Audit("admin", request).left_out(), 5u);
  request.set_since_wall_ns(clock_.WallNanos() + kNanosPerSecond);
  EXPECT_EQ(Audit("admin", request).records_size(), 0);
  collector_.reset();
}

TEST_F(CollectorAuditTest, ACollectorWithoutAPlaceForBackupsSaysSo) {
  const grpc::Status status = Call(ConnectAs("admin"), "lockstep.wire.Admin.Backup");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("keeps no history to back up"));
}

}  // namespace
}  // namespace lockstep
