// Which looks at the files of the door make records, where the collector's own tests do not get to.

#include "collector/door_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "collector/access/access_control.h"
#include "collector/access/audit_log.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"
#include "collector/store/testing/memory_store.h"
#include "proto/admin.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

class DoorAuditTest : public testing::Test {
 protected:
  // Newest first.
  std::vector<std::string> Kept() {
    std::vector<std::string> lines;
    const std::vector<wire::AuditRecord> records = *store_.LoadAudit();
    for (const wire::AuditRecord& record : records) {
      lines.push_back(absl::StrCat(record.action(), ", ", record.from()));
    }
    return lines;
  }

  const DoorFile rules_ = {"change_access_rules", "access.yaml", "rules"};
  const DoorFile keys_ = {"change_key_set", "jwks.json", "keys"};
  SimClock clock_;
  MemoryStore store_;
  CollectorMetrics metrics_{"test"};
  AuditLog audit_{"", clock_, store_, metrics_, /*max_file_bytes=*/0};
};

TEST_F(DoorAuditTest, AStartWhoseQueueIsFullMakesNoRecordOfWhatIsTheSame) {
  {
    QueryWorker worker;
    DoorAudit door(audit_, store_, worker);
    door.Look({rules_});
    worker.Close();
  }
  QueryWorker worker(/*max_waiting=*/1);
  StopSignal is_busy, go_on;
  ASSERT_TRUE(worker.TryRun([&] {
    is_busy.Stop();
    while (!go_on.WaitFor(kNanosPerSecond)) {
    }
  }));
  while (!is_busy.WaitFor(kNanosPerSecond)) {
  }
  while (worker.TryRun([] {})) {
  }
  DoorAudit door(audit_, store_, worker);
  door.Look({rules_});
  go_on.Stop();
  while (worker.progress().has_work) StopSignal().WaitFor(kNanosPerMilli);
  door.Look({rules_});
  worker.Close();
  EXPECT_THAT(Kept(), ElementsAre("change_access_rules, file, found at the start"));
}

TEST_F(DoorAuditTest, AFileThatComesBackIsAChange) {
  QueryWorker worker;
  DoorAudit door(audit_, store_, worker);
  door.Look({rules_});
  for (int i = 0; i < 2; ++i) {
    door.Look({rules_, keys_});
    door.Look({rules_, keys_});
    door.Look({rules_});
  }
  worker.Close();
  EXPECT_THAT(Kept(), ElementsAre("change_key_set, file", "change_key_set, file",
                                  "change_access_rules, file, found at the start"));
}

}  // namespace
}  // namespace lockstep
