// A cutoff by size: what is left is about as much as was wanted, and no cutoff is later than it may be.

#include "collector/store/table_ages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/random.h"
#include "rocksdb/table_properties.h"
#include "rocksdb/types.h"

namespace lockstep {
namespace {

TableAge Table(uint64_t bytes, int64_t oldest, int64_t newest) {
  TableAge table;
  table.bytes = bytes;
  table.oldest_wall_ns = oldest;
  table.newest_wall_ns = newest;
  return table;
}

uint64_t LeftBy(const std::vector<TableAge>& tables, int64_t cutoff) {
  uint64_t left = BytesOf(tables);
  for (const TableAge& table : tables) left -= BytesBefore(table, cutoff);
  return left;
}

TEST(TableAgesTest, RecordsAreSpreadOverTheTimeOfTheirTable) {
  const TableAge table = Table(1'000, 0, 99);
  EXPECT_EQ(BytesBefore(table, 0), 0u);
  EXPECT_EQ(BytesBefore(table, 50), 500u);
  EXPECT_EQ(BytesBefore(table, 100), 1'000u);
  EXPECT_EQ(BytesBefore(Table(7, 5, 5), 5), 0u);
  EXPECT_EQ(BytesBefore(Table(7, 5, 5), 6), 7u);
}

TEST(TableAgesTest, TheCutoffIsTheEarliestThatLeavesSoFewBytes) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<TableAge> tables;
    for (uint64_t i = 0; i < 1 + random.Below(8); ++i) {
      const auto oldest = static_cast<int64_t>(random.Below(1'000));
      tables.push_back(Table(random.Below(10'000), oldest, oldest + static_cast<int64_t>(random.Below(500))));
    }
    const uint64_t most = random.Below(BytesOf(tables) + 1);
    const int64_t cutoff = CutoffFor(tables, most, 2'000);
    EXPECT_LE(LeftBy(tables, cutoff), most);
    bool is_first = true;
    for (const TableAge& table : tables) is_first = is_first && table.oldest_wall_ns >= cutoff;
    if (is_first) continue;
    EXPECT_GT(LeftBy(tables, cutoff - 1), most);
  }
}

TEST(TableAgesTest, WhatIsNewEnoughStaysHoweverMuchItIs) {
  EXPECT_EQ(CutoffFor({Table(1'000, 0, 999)}, 0, 500), 500);
  EXPECT_EQ(CutoffFor({}, 0, 500), 500);
}

TEST(TableAgesTest, TablesSayFromWhenTheirRecordsAre) {
  const auto factory = NewTableAgeFactory([](absl::string_view key, absl::string_view) -> std::optional<int64_t> {
    return key == "forever" ? std::nullopt : std::optional<int64_t>(std::stoll(std::string(key)));
  });
  const auto age_of = [&](const std::vector<std::string>& keys, rocksdb::EntryType type) {
    const std::unique_ptr<rocksdb::TablePropertiesCollector> collector(factory->CreateTablePropertiesCollector({}));
    for (const std::string& key : keys) EXPECT_TRUE(collector->AddUserKey(key, "", type, 1, 0).ok());
    rocksdb::TableProperties properties;
    EXPECT_TRUE(collector->Finish(&properties.user_collected_properties).ok());
    TableAge age = Table(100, -5, -1);
    ReadTableAge(properties, age);
    return age;
  };
  const TableAge age = age_of({"30", "forever", "10", "20"}, rocksdb::kEntryPut);
  EXPECT_EQ(age.oldest_wall_ns, 10);
  EXPECT_EQ(age.newest_wall_ns, 30);
  EXPECT_EQ(BytesBefore(age_of({"forever"}, rocksdb::kEntryPut), 1'000), 0u) << "nothing of it ever goes";
  EXPECT_EQ(BytesBefore(age_of({"7"}, rocksdb::kEntryDelete), 1'000), 0u) << "it holds nothing";
  TableAge old = Table(100, -5, -1);
  ReadTableAge(rocksdb::TableProperties(), old);
  EXPECT_EQ(old.oldest_wall_ns, -5) << "a table of an earlier release says nothing";
}

}  // namespace
}  // namespace lockstep
