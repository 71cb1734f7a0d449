// What agents send again, after a loss or a restart: the log of each job holds it once, in order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "collector/ingest/agent_ledger.h"
#include "collector/ingest/job_slice.h"
#include "collector/job_table.h"
#include "collector/testing/job_table_fixture.h"
#include "collector/testing/report_builder.h"
#include "collector/testing/unheard_stream.h"
#include "proto/capture.pb.h"
#include "proto/ingest.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

constexpr char kHost[] = "node-0";
constexpr uint64_t kIncarnation = 7;

class SentAgainTest : public JobTableTest {
 protected:
  // A report with a rank of each of two jobs, as a stream hands it over.
  std::vector<JobSlice> Report(uint64_t sequence) {
    std::vector<JobSlice> slices;
    for (const std::string job : {"first", "second"}) {
      TestRanks ranks;
      ranks.job = job;
      ranks.first_step = 1 + 10 * static_cast<int64_t>(sequence);
      slices.push_back(Slice(kHost, MakeTestReport(sequence, ranks)));
      slices.back().input.set_incarnation(kIncarnation);
    }
    ledger_->Attach(stream_);
    ledger_->HandOver(stream_.get(), sequence, slices.size(), [&](size_t index, AgentLedger::Ticket ticket) {
      slices[index].ticket = std::move(ticket);
      return true;
    });
    return slices;
  }

  void Send(JobTable& table, uint64_t sequence) {
    for (JobSlice& slice : Report(sequence)) table.Observe(std::move(slice));
    clock_.Advance(kNanosPerMilli);
  }

  std::vector<uint64_t> Logged(const std::string& job) const {
    std::vector<uint64_t> sequences;
    for (const wire::CaptureEntry& entry : log_.entries) {
      if (entry.input().job() == job) sequences.push_back(entry.input().report().sequence());
    }
    return sequences;
  }

  // What the log of `job` holds of reports behind its last reset.
  std::vector<uint64_t> GivenToTheEngine(const std::string& job) const {
    std::vector<uint64_t> sequences;
    for (const wire::CaptureEntry& entry : log_.entries) {
      if (entry.reset().job() == job) sequences.clear();
      if (entry.input().job() == job) sequences.push_back(entry.input().report().sequence());
    }
    return sequences;
  }

  std::shared_ptr<AgentLedger> ledger_ = std::make_shared<AgentLedger>(kHost, kIncarnation, 0);
  std::shared_ptr<UnheardStream> stream_ = std::make_shared<UnheardStream>();
};

TEST_F(SentAgainTest, AfterALostSliceEachLogHoldsEachReportOnceAndInOrder) {
  JobTable table = MakeTable();
  Send(table, 1);
  log_.loses_job_ = "second";
  Send(table, 2);
  log_.loses_job_.reset();
  Send(table, 3);  // it must not stand before what comes again
  EXPECT_THAT(Logged("first"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Logged("second"), ElementsAre(1));
  EXPECT_EQ(ledger_->completed_sequence(), 1u);

  ASSERT_TRUE(ledger_->Rewind());
  for (const uint64_t sequence : {2, 3, 4}) Send(table, sequence);
  EXPECT_THAT(Logged("first"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Logged("second"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(GivenToTheEngine("second"), ElementsAre(2, 3, 4)) << "it begins anew before what comes again";
  EXPECT_EQ(ledger_->completed_sequence(), 4u);
}

TEST_F(SentAgainTest, WhatIsLostAgainComesAgain) {
  JobTable table = MakeTable();
  for (int time = 0; time < 2; ++time) {
    log_.loses_job_ = "second";
    Send(table, 1);
    Send(table, 2);
    ASSERT_TRUE(ledger_->Rewind());
  }
  log_.loses_job_.reset();
  for (const uint64_t sequence : {1, 2}) Send(table, sequence);
  EXPECT_THAT(Logged("first"), ElementsAre(1, 2));
  EXPECT_THAT(Logged("second"), ElementsAre(1, 2));
  EXPECT_EQ(ledger_->completed_sequence(), 2u);
}

TEST_F(SentAgainTest, AnAgentThatThrewTheLostReportAwayGoesOnBehindIt) {
  JobTable table = MakeTable();
  log_.loses_job_ = "second";
  Send(table, 1);
  log_.loses_job_.reset();
  ASSERT_TRUE(ledger_->Rewind());
  Send(table, 5);
  EXPECT_THAT(Logged("first"), ElementsAre(1, 5));
  EXPECT_THAT(Logged("second"), ElementsAre(5));
  EXPECT_EQ(ledger_->completed_sequence(), 5u);
}

TEST_F(SentAgainTest, WhatTheSliceBeforeAKillHasLoggedIsNotLoggedAgain) {
  {
    JobTable table = MakeTable();
    Send(table, 1);
    table.Observe(std::move(Report(2).front()));  // killed before the other half
  }
  ledger_ = std::make_shared<AgentLedger>(kHost, kIncarnation, ledger_->completed_sequence());
  const std::unique_ptr<JobTable> restarted = Restart();
  for (const char* job : {"first", "second"}) {
    restarted->WarmUpJob(job, [&](const JobTable::Visit& visit) {
      const std::vector<wire::CaptureEntry> entries = log_.entries;
      for (const wire::CaptureEntry& entry : entries) {
        if (entry.input().job() != job) continue;
        if (absl::Status status = visit(entry); !status.ok()) return status;
      }
      return absl::OkStatus();
    });
  }
  for (const uint64_t sequence : {2, 3}) Send(*restarted, sequence);
  EXPECT_THAT(Logged("first"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Logged("second"), ElementsAre(1, 2, 3));
  EXPECT_EQ(ledger_->completed_sequence(), 3u);
}

}  // namespace
}  // namespace lockstep
