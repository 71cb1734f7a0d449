#include "collector/store/rocks_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/metric_catalog.h"
#include "base/testing/status_matchers.h"
#include "collector/store/history_store.h"
#include "collector/store/log_chunk.h"
#include "collector/store/rocks_store.h"
#include "collector/store/rocks_store_fixture.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class RocksStoreTest : public RocksStoreFixture {};

TEST_F(RocksStoreTest, HostsAreKnownUntilTheyAreRemovedAlsoAfterARestart) {
  Open();
  ASSERT_OK(store_->PutHosts({{"b", now()}, {"a", now()}}));
  ASSERT_OK(store_->PutHosts({{"b", now() + 5}}));
  Open();
  const absl::StatusOr<std::vector<SeenHost>> hosts = store_->LoadHosts();
  ASSERT_OK(hosts);
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[0].name, "a");
  EXPECT_EQ((*hosts)[1].last_report_wall_ns, now() + 5);
  ASSERT_OK(store_->RemoveHost("a"));
  ASSERT_OK(store_->RemoveHost("unheard of"));
  Open();
  EXPECT_EQ(store_->LoadHosts()->size(), 1u);
  EXPECT_EQ(store_->LoadAlerts()->size(), 0u) << "the neighbours in that family";
}

TEST_F(RocksStoreTest, GpusAreKeptByHostUntilThatIsRemovedAlsoAfterARestart) {
  Open();
  const auto gpus = [](const std::string& host, const std::vector<std::string>& uuids) {
    wire::HostGpus made;
    made.set_host(host);
    for (const std::string& uuid : uuids) made.add_gpus()->set_uuid(uuid);
    return made;
  };
  ASSERT_OK(store_->PutGpus({gpus("b", {"GPU-1"}), gpus("a", {"GPU-2"})}));
  ASSERT_OK(store_->PutGpus({gpus("b", {"GPU-1", "GPU-3"})}));
  Open();
  const absl::StatusOr<std::vector<wire::HostGpus>> kept = store_->LoadGpus();
  ASSERT_OK(kept);
  ASSERT_EQ(kept->size(), 2u);
  EXPECT_EQ((*kept)[0].host(), "a");
  EXPECT_EQ((*kept)[1].gpus_size(), 2);
  ASSERT_OK(store_->RemoveHost("a"));
  Open();
  ASSERT_EQ(store_->LoadGpus()->size(), 1u);
  EXPECT_EQ((*store_->LoadGpus())[0].host(), "b");
  EXPECT_EQ(store_->LoadHosts()->size(), 0u) << "the neighbours in that family";
}

TEST_F(RocksStoreTest, WindowsOfMaintenanceAreKeptByTheirIdAlsoAfterARestart) {
  Open();
  const auto window = [](uint64_t id, const std::string& host) {
    wire::MaintenanceWindow made;
    made.set_id(id);
    made.add_hosts(host);
    return made;
  };
  ASSERT_OK(store_->PutMaintenance(window(300, "c"), {}));
  ASSERT_OK(store_->PutMaintenance(window(2, "a"), {}));
  ASSERT_OK(store_->PutMaintenance(window(2, "b"), {}));
  Open();
  const absl::StatusOr<std::vector<wire::MaintenanceWindow>> windows = store_->LoadMaintenance();
  ASSERT_OK(windows);
  ASSERT_EQ(windows->size(), 2u);
  EXPECT_EQ((*windows)[0].hosts(0), "b");
  EXPECT_EQ((*windows)[1].id(), 300u);
  ASSERT_OK(store_->PutMaintenance(window(301, "d"), {2, 300, 77}));
  Open();
  EXPECT_EQ(store_->LoadMaintenance()->size(), 1u);
  EXPECT_EQ(store_->LoadHosts()->size(), 0u) << "the neighbours in that family";
}

TEST_F(RocksStoreTest, UpToWhereIdsOfIncidentsMayBeGivenOutIsKept) {
  Open();
  EXPECT_EQ(*store_->LoadIncidentIds(), 0u);
  ASSERT_OK(store_->PutIncidentIds(64));
  ASSERT_OK(store_->PutIncidentIds(7));
  Open();
  EXPECT_EQ(*store_->LoadIncidentIds(), 7u) << "an orderly end gives back";
}

TEST_F(RocksStoreTest, LogComesBackPerJobInOrderAlsoAfterReopening) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now()), Watermark("b", now() + 1), Watermark("a", now() + 2)}}));
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 2), Watermark("a", now() + 3)}}));
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(LogTimes("a"), ElementsAre(now(), now() + 2, now() + 2, now() + 3));
    EXPECT_THAT(LogTimes("b"), ElementsAre(now() + 1));
    EXPECT_THAT(LogTimes("a", now() + 1, now() + 3), ElementsAre(now() + 2, now() + 2));
    Open();
  }
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 3)}}));
  EXPECT_EQ(LogTimes("a").size(), 5u);
}

TEST_F(RocksStoreTest, AScanFromAnyMomentGivesWhatTheWholeHasFromThereOn) {
  Open();
  // Chunks of many lengths, with gaps between them and moments that two of them share.
  std::vector<int64_t> all;
  for (int64_t chunk = 0; chunk < 40; ++chunk) {
    StoreBatch batch;
    for (int64_t i = 0; i <= chunk % 7; ++i) {
      all.push_back(now());
      batch.log.push_back(Watermark("a", now()));
      clock_.Advance((chunk % 3) * i * kNanosPerSecond);
    }
    ASSERT_OK(store_->Write(batch));
    clock_.Advance((chunk % 5) * kNanosPerSecond);
  }
  for (const int64_t moment : all) {
    for (const int64_t from : {moment - 1, moment, moment + 1}) {
      const std::vector<int64_t> expected(std::lower_bound(all.begin(), all.end(), from), all.end());
      ASSERT_EQ(LogTimes("a", from), expected) << from - all.front();
    }
  }
}

TEST_F(RocksStoreTest, AScanDoesNotUnpackChunksThatEndBeforeIt) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now()), Watermark("a", now() + 5)}}));
  LogChunkBuilder builder;
  ASSERT_TRUE(builder.Add(Watermark("a", now())));
  ASSERT_TRUE(builder.Add(Watermark("a", now() + 5)));
  std::string broken = builder.Seal();
  broken.resize(broken.size() - 3);
  ASSERT_NO_FATAL_FAILURE(Scribble(Family::kLog, broken));
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 6)}}));
  EXPECT_THAT(LogTimes("a", now() + 6), ElementsAre(now() + 6));
  EXPECT_EQ(store_->stats().corrupt_records, 0u) << "whoever unpacks it sees that it is broken";
  EXPECT_THAT(store_->ScanLog("a", now() + 5, kForever, [](const wire::CaptureEntry&) { return true; }),
              StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
}

TEST_F(RocksStoreTest, ScanStopsWhenAskedAndKnowsUnknownJobs) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now()), Watermark("a", now() + 1)}}));
  int seen = 0;
  ASSERT_OK(store_->ScanLog("a", 0, kForever, [&](const wire::CaptureEntry&) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
  EXPECT_THAT(store_->ScanLog("x", 0, kForever, [](const wire::CaptureEntry&) { return true; }),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job called x")));
}

TEST_F(RocksStoreTest, AnEntryWithoutAJobIsRefusedAndNothingOfTheBatchIsWritten) {
  Open();
  EXPECT_THAT(store_->Write({.log = {Watermark("a", now()), wire::CaptureEntry()}, .marks = {{"node", 1, 5}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names no job")));
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 0u);
}

TEST_F(RocksStoreTest, AHostWithoutAJobIsLoggedUnderTheEmptyName) {
  Open();
  wire::CaptureEntry input;
  input.mutable_input()->set_host("idle-node");
  input.mutable_input()->set_received_wall_ns(now());
  ASSERT_OK(store_->Write({.log = {input, Watermark("a", now() + 1)}, .marks = {{"idle-node", 7, 1}}}));
  Open();
  std::vector<std::string> hosts;
  ASSERT_OK(store_->ScanLog("", 0, now() + 10, [&](const wire::CaptureEntry& entry) {
    hosts.push_back(entry.input().host());
    return true;
  }));
  EXPECT_THAT(hosts, ElementsAre("idle-node"));
  EXPECT_THAT(LogTimes("a"), ElementsAre(now() + 1));
  EXPECT_EQ(store_->StoredSequence("idle-node", 7).value(), 1u);
}

TEST_F(RocksStoreTest, MarksTellTheNewestSequenceOfEachIncarnation) {
  Open();
  ASSERT_OK(store_->Write({.marks = {{"node", 1, 5}, {"node", 1, 4}, {"node", 2, 9}}}));
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 5u);
  Open();
  EXPECT_EQ(store_->StoredSequence("node", 2).value(), 9u);
  EXPECT_EQ(store_->StoredSequence("node", 3).value(), 0u);
  EXPECT_EQ(store_->StoredSequence("nod", 1).value(), 0u);
}

TEST_F(RocksStoreTest, IncidentsAreReplacedByIdAndComeBackByRisingId) {
  Open();
  ASSERT_OK(store_->PutIncident(MakeIncident(300)));
  ASSERT_OK(store_->PutIncident(MakeIncident(2)));
  ASSERT_OK(store_->PutIncident(MakeIncident(2, now())));
  Open();
  const auto incidents = store_->LoadIncidents();
  ASSERT_OK(incidents);
  ASSERT_EQ(incidents->size(), 2u);
  EXPECT_EQ((*incidents)[0].id(), 2u);
  EXPECT_EQ((*incidents)[0].resolved_wall_ns(), now());
  EXPECT_EQ((*incidents)[1].id(), 300u);
}

TEST_F(RocksStoreTest, WhatAReceiverHasNotTakenComesBackInOrderUntilItIsRemoved) {
  Open();
  wire::IncidentEvent opened, resolved;
  opened.set_kind(wire::IncidentEvent::KIND_OPENED);
  *opened.mutable_incident() = MakeIncident(1);
  resolved.set_kind(wire::IncidentEvent::KIND_RESOLVED);
  *resolved.mutable_incident() = MakeIncident(1, now());
  const absl::StatusOr<uint64_t> first = store_->PutEvent(opened, {"http://a/", "http://b/"});
  ASSERT_OK(first);
  const absl::StatusOr<uint64_t> second = store_->PutEvent(resolved, {"http://a/", "http://b/"});
  ASSERT_OK(second);
  EXPECT_LT(*first, *second);
  ASSERT_OK(store_->RemoveAlerts("http://a/", {*first}));
  ASSERT_OK(store_->RemoveAlerts("http://b/", {*first, *second, 12'345}));
  Open();
  const absl::StatusOr<std::vector<PendingAlert>> left = store_->LoadAlerts();
  ASSERT_OK(left);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ((*left)[0].number, *second);
  EXPECT_EQ((*left)[0].receiver, "http://a/");
  EXPECT_EQ((*left)[0].event.SerializeAsString(), resolved.SerializeAsString());
  EXPECT_EQ(store_->LoadIncidents()->at(0).resolved_wall_ns(), now());
  const absl::StatusOr<uint64_t> third = store_->PutEvent(opened, {"http://a/"});
  ASSERT_OK(third);
  EXPECT_LT(*second, *third) << "numbers rise across lives";
}

TEST_F(RocksStoreTest, LoggedJobsTellTheirNewestEntry) {
  Open();
  EXPECT_THAT(store_->LoggedJobs().value(), IsEmpty());
  ASSERT_OK(store_->Write({.log = {Watermark("a", now()), Watermark("b", now() + 5), Watermark("a", now() + 7)}}));
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 9)}}));
  Open();
  const absl::StatusOr<std::vector<LoggedJob>> jobs = store_->LoggedJobs();
  ASSERT_OK(jobs);
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ((*jobs)[0].name, "a");
  EXPECT_EQ((*jobs)[0].newest_wall_ns, now() + 9);
  EXPECT_EQ((*jobs)[1].name, "b");
  EXPECT_EQ((*jobs)[1].newest_wall_ns, now() + 5);
}

TEST_F(RocksStoreTest, PointsThatACrashTookFromMemoryComeBackOnceEach) {
  options_.open_chunks.max_points = 4;
  Open();
  std::vector<SeriesPoint> all;
  for (int i = 0; i < 10; ++i) all.push_back({"h1", "gpu0", kGauge, now() + i * kNanosPerSecond, 1.0 * i});
  StoreBatch batch;
  batch.points = all;
  ASSERT_OK(store_->Write(batch));
  clock_.Advance(20 * kNanosPerSecond);
  Open();  // without Flush: two chunks are on disk, the third was in memory
  const SeriesSelector selector{kGauge, "h1", "*", 0, kForever, {}};
  ASSERT_EQ(Read(selector).at(0).points.size(), 8u);
  ASSERT_OK(store_->RecoverPoints(all));
  for (const bool reopened : {false, true}) {
    const std::vector<SeriesRange> ranges = Read(selector);
    ASSERT_EQ(ranges.at(0).points.size(), 10u) << reopened;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ranges[0].points[static_cast<size_t>(i)].second, i);
    ASSERT_OK(store_->Flush());
    if (!reopened) Open();
  }
  ASSERT_OK(store_->RecoverPoints(all));
  EXPECT_EQ(Read(selector).at(0).points.size(), 10u) << "nothing was lost this time";
}

TEST_F(RocksStoreTest, PointsAreReadFromMemoryAndFromDiskAsOneSeries) {
  Open();
  std::vector<Point> points;
  for (int second = 0; second < 200; ++second) points.emplace_back(now() + second * kNanosPerSecond, second * 0.5);
  WritePoints("node", points);
  EXPECT_EQ(PointsOf("node"), points) << "sealed chunks and an open one";
  ASSERT_OK(store_->Flush());
  EXPECT_EQ(PointsOf("node"), points);
  Open();
  EXPECT_EQ(PointsOf("node"), points);
  EXPECT_EQ(Read({kGauge, "node", "gpu0", points[70].first, points[75].first, {}})[0].points.size(), 5u);
}

TEST_F(RocksStoreTest, AgeSealsAChunkThatGetsNoMorePoints) {
  Open();
  WritePoints("node", {{now(), 1}});
  EXPECT_EQ(store_->stats().open_series, 1u);
  clock_.Advance(61 * kNanosPerSecond);
  ASSERT_OK(store_->Write({}));
  EXPECT_EQ(store_->stats().open_series, 0u);
  Open();
  EXPECT_THAT(PointsOf("node"), ElementsAre(Pair(_, 1)));
}

TEST_F(RocksStoreTest, SelectorsChooseHostsAndDevices) {
  Open();
  StoreBatch batch;
  for (const char* host : {"a", "b"}) {
    for (const char* device : {"", "gpu0"}) batch.points.push_back({host, device, kGauge, now(), 1});
  }
  batch.points.push_back({"a", "", Metric::kHostLoad1, now(), 1});
  ASSERT_OK(store_->Write(batch));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Read({kGauge, "", "*", 0, kForever, {}}).size(), 4u);
    EXPECT_EQ(Read({kGauge, "a", "*", 0, kForever, {}}).size(), 2u);
    EXPECT_EQ(Read({kGauge, "", "", 0, kForever, {}}).size(), 2u);
    EXPECT_EQ(Read({kGauge, "b", "gpu0", 0, kForever, {}}).size(), 1u);
    const SeriesPage page = ReadPage({kGauge, "", "*", 5, kForever, {}}, {.max_series = 3, .max_points = 100});
    EXPECT_EQ(page.ranges.size(), 3u);
    EXPECT_EQ(page.next, (SeriesCursor{"b", "gpu0", 5}));
    ASSERT_OK(store_->Flush());
  }
  EXPECT_THAT(store_->ReadSeries({}, {}), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST_F(RocksStoreTest, PointsBeyondTheSeriesLimitAreDroppedAndCounted) {
  options_.open_chunks.max_series = 1;
  Open();
  WritePoints("a", {{now(), 1}});
  WritePoints("b", {{now(), 1}, {now() + 1, 2}});
  EXPECT_EQ(store_->stats().dropped_points, 2u);
  EXPECT_THAT(PointsOf("b"), IsEmpty());
}

}  // namespace
}  // namespace lockstep
