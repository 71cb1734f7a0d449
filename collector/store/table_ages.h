// Over which time the records of each table were last of use, and what follows for a cutoff by size.
//
// Tables are ordered by key and not by time. So each says in its properties from when its oldest and its newest record
// are, and records are taken to be spread evenly in between. Pure but for the collector, of which RocksDB makes one per
// table; the factory is thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_TABLE_AGES_H_
#define LOCKSTEP_COLLECTOR_STORE_TABLE_AGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/store/retention.h"
#include "rocksdb/table_properties.h"

namespace lockstep {

struct TableAge {
  std::string name;  // as RocksDB calls it
  int level = 0;
  uint64_t bytes = 0;
  uint64_t records = 0;
  int64_t oldest_wall_ns = 0;
  int64_t newest_wall_ns = 0;
};

// Has tables say from when their records are.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> NewTableAgeFactory(LastUse last_use);

// Puts what a table says into `age`; what was there stays for one that an earlier release wrote, which says nothing.
void ReadTableAge(const rocksdb::TableProperties& properties, TableAge& age);

// About how much of the table is older than the cutoff.
uint64_t BytesBefore(const TableAge& table, int64_t cutoff_wall_ns);

uint64_t BytesOf(const std::vector<TableAge>& tables);

// The earliest cutoff that leaves about `most_bytes`, and `latest_wall_ns` if none before it does.
int64_t CutoffFor(const std::vector<TableAge>& tables, uint64_t most_bytes, int64_t latest_wall_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_TABLE_AGES_H_
