#include "collector/store/rocks_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "collector/store/audit_records.h"
#include "collector/store/rocks_database.h"
#include "collector/store/values.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr Metric kGauge = Metric::kGpuPowerWatts;

wire::CaptureEntry Watermark(const std::string& job, int64_t wall_ns) {
  wire::CaptureEntry entry;
  entry.mutable_watermark()->set_job(job);
  entry.mutable_watermark()->set_wall_ns(wall_ns);
  return entry;
}

wire::Incident MakeIncident(uint64_t id, int64_t resolved_wall_ns = 0) {
  wire::Incident incident;
  incident.set_id(id);
  incident.set_job("job");
  incident.set_resolved_wall_ns(resolved_wall_ns);
  return incident;
}

class RocksStoreTest : public ::testing::Test {
 protected:
  RocksStoreTest() {
    options_.directory = (directory_.path() / "history").string();
    options_.write_buffer_bytes = size_t{1} << 20;
  }

  void Open() {
    store_.reset();
    auto store = OpenRocksStore(options_, clock_);
    ASSERT_OK(store);
    store_ = *std::move(store);
  }

  int64_t now() const { return clock_.WallNanos(); }

  void WritePoints(const std::string& host, const std::vector<Point>& points, Metric metric = kGauge) {
    StoreBatch batch;
    for (const Point& point : points) batch.points.push_back({host, "gpu0", metric, point.first, point.second});
    ASSERT_OK(store_->Write(batch));
  }

  std::vector<int64_t> LogTimes(const std::string& job, int64_t from = 0, int64_t to = kForever) {
    std::vector<int64_t> times;
    EXPECT_OK(store_->ScanLog(job, from, to, [&](const wire::CaptureEntry& entry) {
      EXPECT_EQ(entry.watermark().job(), job);
      times.push_back(entry.watermark().wall_ns());
      return true;
    }));
    return times;
  }

  SeriesPage ReadPage(const SeriesSelector& selector, const SeriesLimits& limits) {
    auto page = store_->ReadSeries(selector, limits);
    EXPECT_OK(page);
    return page.ok() ? *std::move(page) : SeriesPage();
  }

  std::vector<SeriesRange> Read(const SeriesSelector& selector) {
    SeriesPage page = ReadPage(selector, {.max_series = 100, .max_points = 1'000'000});
    EXPECT_FALSE(page.next.has_value());
    return std::move(page.ranges);
  }

  std::vector<Point> PointsOf(const std::string& host, Metric metric = kGauge) {
    const auto ranges = Read({metric, host, "*", 0, kForever, {}});
    return ranges.empty() ? std::vector<Point>() : ranges[0].points;
  }

  // Replaces the value of every record of `family`, behind the store's back.
  void Scribble(Family family, const std::string& value) {
    store_.reset();
    auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    std::vector<std::string> keys;
    ASSERT_OK((*database)->Scan(family, "", "", nullptr, [&](absl::string_view key, absl::string_view) {
      keys.emplace_back(key);
      return true;
    }));
    ASSERT_FALSE(keys.empty());
    rocksdb::WriteBatch batch;
    (*database)->Put(batch, family, keys.front(), value);
    ASSERT_OK((*database)->Write(batch, true));
    database->reset();
    Open();
  }

  TemporaryDirectory directory_;
  SimClock clock_;
  RocksStoreOptions options_;
  std::unique_ptr<RocksStore> store_;
};

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

TEST_F(RocksStoreTest, WhoAskedForWhatIsKeptNewestFirst) {
  Open();
  ASSERT_OK(store_->PutAudit(AuditKind::kChange, Asked("first")));
  ASSERT_OK(store_->PutAudit(AuditKind::kRefusal, Asked("second")));
  Open();
  ASSERT_OK(store_->PutAudit(AuditKind::kChange, Asked("third")));
  EXPECT_THAT(ActionsOf(store_->LoadAudit()), ElementsAre("third", "second", "first"));
}

TEST_F(RocksStoreTest, AFloodOfRefusalsMakesRoomForItselfAlone) {
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

TEST_F(RocksStoreTest, LongRecordsOfTheAuditLeaveEarlier) {
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

class RetentionTest : public RocksStoreTest {};

TEST_F(RetentionTest, ReadersDoNotSeeWhatHasExpiredBeforeAnyCompaction) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}, .marks = {{"node", 1, 5}}}));
  clock_.Advance(options_.log_retention_ns + 1);
  EXPECT_THAT(LogTimes("a"), IsEmpty());
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 5u);
  clock_.Advance(options_.mark_retention_ns);
  EXPECT_EQ(store_->StoredSequence("node", 1).value(), 0u);
}

TEST_F(RetentionTest, RollUpsTakeOverWherePointsHaveExpired) {
  Open();
  const int64_t start = now();
  WritePoints("node", {{start, 10}, {start + 1, 20}});
  WritePoints("node", {{start, 100}, {start + 1, 200}}, Metric::kGpuPcieReplaysTotal);
  ASSERT_OK(store_->Flush());
  clock_.Advance(options_.chunk_retention_ns + 2);
  EXPECT_THAT(PointsOf("node"), ElementsAre(Pair(start, 15))) << "the mean of a gauge";
  EXPECT_THAT(PointsOf("node", Metric::kGpuPcieReplaysTotal), ElementsAre(Pair(start, 100))) << "a counter as read";
  clock_.Advance(options_.rollup_retention_ns);
  EXPECT_THAT(PointsOf("node"), IsEmpty());
}

TEST_F(RetentionTest, CompactionRemovesWhatHasExpiredAndNothingElse) {
  Open();
  WritePoints("old", {{now(), 1}});
  ASSERT_OK(store_->Write({.marks = {{"old", 1, 5}}}));
  ASSERT_OK(store_->Flush());
  clock_.Advance(options_.rollup_retention_ns + kNanosPerDay + kNanosPerHour);
  WritePoints("new", {{now(), 2}});
  ASSERT_OK(store_->Write({.marks = {{"new", 1, 6}}}));
  ASSERT_OK(store_->Flush());
  ASSERT_OK(store_->Compact());
  EXPECT_EQ(store_->stats().expired_records, 4u) << "a mark, a series, a chunk and a roll-up";
  EXPECT_THAT(PointsOf("new"), ElementsAre(Pair(now(), 2)));
  EXPECT_EQ(store_->StoredSequence("new", 1).value(), 6u);
}

TEST_F(RetentionTest, OpenIncidentsAndTheNewestIdNeverExpire) {
  Open();
  ASSERT_OK(store_->PutIncident(MakeIncident(1)));
  ASSERT_OK(store_->PutIncident(MakeIncident(2, now())));
  ASSERT_OK(store_->PutIncident(MakeIncident(3, now())));
  clock_.Advance(options_.incident_retention_ns + kNanosPerHour);
  for (int round = 0; round < 2; ++round) {
    const auto incidents = store_->LoadIncidents();
    ASSERT_OK(incidents);
    ASSERT_EQ(incidents->size(), 2u);
    EXPECT_EQ((*incidents)[0].id(), 1u);
    EXPECT_EQ((*incidents)[1].id(), 3u);
    ASSERT_OK(store_->Compact());
  }
  EXPECT_EQ(store_->stats().expired_records, 1u);
}

class CorruptionTest : public RocksStoreTest {};

TEST_F(CorruptionTest, ALogChunkThatDoesNotDecodeIsNamedAndTheRestIsRead) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}}));
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 1)}}));
  Scribble(Family::kLog, "\x09junk");
  std::vector<int64_t> times;
  const absl::Status status = store_->ScanLog("a", 0, kForever, [&](const wire::CaptureEntry& entry) {
    times.push_back(entry.watermark().wall_ns());
    return true;
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of job a: log chunk of unknown format 9")));
  EXPECT_THAT(times, ElementsAre(now() + 1));
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
}

TEST_F(CorruptionTest, PointsAndIncidentsThatDoNotDecodeAreSkippedAndCounted) {
  Open();
  WritePoints("a", {{now(), 1}, {now() + 100 * kNanosPerSecond, 2}});
  ASSERT_OK(store_->Flush());
  Scribble(Family::kChunks, "");
  EXPECT_THAT(PointsOf("a"), ElementsAre(Pair(_, 2)));
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
  ASSERT_OK(store_->PutIncident(MakeIncident(1)));
  ASSERT_OK(store_->PutIncident(MakeIncident(2)));
  Scribble(Family::kIncidents, "\x01");
  EXPECT_EQ(store_->LoadIncidents().value().size(), 1u);
}

TEST_F(CorruptionTest, ACorruptIndexEntryDoesNotStopWriting) {
  Open();
  ASSERT_OK(store_->Write({.log = {Watermark("a", now())}}));
  Scribble(Family::kJobs, "?");
  ASSERT_OK(store_->Write({.log = {Watermark("a", now() + 1)}}));
  EXPECT_THAT(LogTimes("a"), ElementsAre(now() + 1));
}

class OpeningTest : public RocksStoreTest {};

TEST_F(OpeningTest, AHeldDirectoryIsRefused) {
  Open();
  EXPECT_THAT(OpenRocksStore(options_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is held by another process")));
}

TEST_F(OpeningTest, ANewerSchemaIsRefusedNamingBothVersionsAndLeftAsItIs) {
  Open();
  store_.reset();
  {
    auto database = RocksDatabase::Open(options_, clock_);
    ASSERT_OK(database);
    rocksdb::WriteBatch batch;
    (*database)->Put(batch, Family::kMeta, "schema_version", EncodeSchemaVersion(7));
    ASSERT_OK((*database)->Write(batch, true));
  }
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(OpenRocksStore(options_, clock_),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("has schema version 7, this program reads version 1")));
  }
}

TEST_F(OpeningTest, AMissingParentOrAFileInThePlaceIsRefused) {
  options_.directory = (directory_.path() / "missing" / "history").string();
  EXPECT_THAT(OpenRocksStore(options_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("missing is not a directory")));
  options_.directory = directory_.Write("file", "text").string();
  EXPECT_THAT(OpenRocksStore(options_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it is not a directory")));
  options_.directory = "";
  EXPECT_THAT(OpenRocksStore(options_, clock_), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(RocksStoreTest, TheLogIsCappedOldestFirstAndWhatIsDeletedIsCounted) {
  options_.write_buffer_bytes = size_t{256} << 10;
  options_.max_log_bytes = uint64_t{1} << 20;
  Open();
  constexpr int kEntries = 200;
  uint64_t state = 1;
  for (int i = 0; i < kEntries; ++i) {
    wire::CaptureEntry entry;
    entry.mutable_reset()->set_job("a");
    entry.mutable_reset()->set_wall_ns(now() + i);
    std::string& text = *entry.mutable_reset()->mutable_why();
    while (text.size() < 40'000) text.push_back(static_cast<char>('0' + (state = state * 48271 % 2147483647) % 64));
    ASSERT_OK(store_->Write({.log = {entry}}));
  }
  ASSERT_OK(store_->Compact());
  int64_t first = -1;
  int count = 0;
  ASSERT_OK(store_->ScanLog("a", 0, kForever, [&](const wire::CaptureEntry& entry) {
    if (first < 0) first = entry.reset().wall_ns();
    ++count;
    return true;
  }));
  EXPECT_GT(store_->stats().deleted_log_bytes, uint64_t{1} << 20);
  EXPECT_GT(count, 0);
  EXPECT_LT(count, kEntries / 2);
  EXPECT_EQ(first, now() + kEntries - count) << "the newest are there without a gap";
}

}  // namespace
}  // namespace lockstep
