#include "collector/store/audit_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/testing/status_matchers.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/admin.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

class AuditRecordsTest : public RocksStoreFixture {};

wire::AuditRecord Asked(const std::string& action, const std::string& of = "") {
  wire::AuditRecord record;
  record.set_action(action);
  record.set_of(of);
  return record;
}

std::vector<std::string> ActionsOf(const absl::StatusOr<std::vector<wire::AuditRecord>>& records) {
  std::vector<std::string> actions;
  for (const wire::AuditRecord& record : records.value()) actions.push_back(record.action());
  return actions;
}

TEST_F(AuditRecordsTest, WhoAskedForWhatIsKeptNewestFirst) {
  Open();
  ASSERT_OK(store_->PutAudit(AuditKind::kChange, Asked("first")));
  ASSERT_OK(store_->PutAudit(AuditKind::kRefusal, Asked("second")));
  Open();
  ASSERT_OK(store_->PutAudit(AuditKind::kChange, Asked("third")));
  EXPECT_THAT(ActionsOf(store_->LoadAudit()), ElementsAre("third", "second", "first"));
}

TEST_F(AuditRecordsTest, AFloodOfRefusalsMakesRoomForItselfAlone) {
  Open();
  ASSERT_OK(store_->PutAudit(AuditKind::kChange, Asked("change")));
  const size_t limit = kAuditLimits[static_cast<size_t>(AuditKind::kRefusal)].max_records;
  for (size_t i = 0; i < limit; ++i) EXPECT_EQ(store_->PutAudit(AuditKind::kRefusal, Asked("flood")).value(), 0u);
  EXPECT_EQ(store_->PutAudit(AuditKind::kRefusal, Asked("newer")).value(), 1u);
  Open();
  EXPECT_EQ(store_->PutAudit(AuditKind::kRefusal, Asked("newest")).value(), 1u) << "the limit outlives a restart";
  const std::vector<std::string> kept = ActionsOf(store_->LoadAudit());
  EXPECT_EQ(kept.size(), limit + 1);
  EXPECT_EQ(kept.front(), "newest");
  EXPECT_EQ(kept.back(), "change");
}

TEST_F(AuditRecordsTest, LongRecordsOfTheAuditLeaveEarlier) {
  Open();
  const std::string of(10'000, 'x');
  size_t made_room = 0;
  for (int i = 0; i < 200; ++i) made_room += store_->PutAudit(AuditKind::kRefusal, Asked("long", of)).value();
  EXPECT_GT(made_room, 90u);
  size_t bytes = 0;
  const std::vector<wire::AuditRecord> kept = store_->LoadAudit().value();
  for (const wire::AuditRecord& record : kept) bytes += record.ByteSizeLong();
  EXPECT_LE(bytes, kAuditLimits[static_cast<size_t>(AuditKind::kRefusal)].max_bytes);
}

}  // namespace
}  // namespace lockstep
