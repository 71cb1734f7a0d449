// One life of the collector, from its start to its death: all that collector/collector.cc puts together behind the
// sockets, in the same order. The gRPC server, the pages and the queries are not there; history is read by the store's
// own interface.
//
// Not thread-safe: one thread starts it, housekeeps and ends it.

#ifndef LOCKSTEP_TESTS_FAULTS_COLLECTOR_LIFE_H_
#define LOCKSTEP_TESTS_FAULTS_COLLECTOR_LIFE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/random.h"
#include "collector/access/access_control.h"
#include "collector/alert_sinks.h"
#include "collector/collector_options.h"
#include "collector/failing_sources.h"
#include "collector/gpu_directory.h"
#include "collector/incident_ids.h"
#include "collector/incident_index.h"
#include "collector/incident_outbox.h"
#include "collector/ingest/agent_registry.h"
#include "collector/ingest/ingest_service.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"
#include "collector/router.h"
#include "collector/shard.h"
#include "collector/store/rocks_store.h"
#include "collector/store_writer.h"
#include "collector/time_line.h"
#include "rocksdb/env.h"
#include "tests/faults/reaction_pool.h"
#include "tests/faults/sabotaged_store.h"
#include "tests/faults/simulated_disk.h"
#include "tests/faults/write_ledger.h"

namespace lockstep::faults {

inline constexpr char kReceiverUrl[] = "http://receiver/alerts";

// How full its queues are.
struct QueueFill {
  size_t shard_slices = 0;
  size_t store_items = 0;
  uint64_t alerts_waiting = 0;
  size_t agents = 0;
};

class CollectorLife {
 public:
  // The errors of the store. `directory` exists and stays empty: RocksDB's files are on `disk`. Borrows
  // `ledger`.
  static absl::StatusOr<std::unique_ptr<CollectorLife>> Start(const std::string& directory,
                                                              const StoreWriterOptions& writer,
                                                              std::shared_ptr<SimulatedDisk> disk, const Random& random,
                                                              const Sabotage& sabotage, WriteLedger& ledger);
  // Ends in order.
  ~CollectorLife();
  CollectorLife(const CollectorLife&) = delete;
  CollectorLife& operator=(const CollectorLife&) = delete;

  // What has to be done once per second.
  void Housekeep();

  IngestService& service() { return *ingest_; }
  ReactionPool& pool() { return pool_; }
  HistoryStore& history() { return *store_; }
  QueueFill fill() const;
  bool is_warm() const;
  // It says that its history is damaged, and takes no more writes.
  bool has_damage() const { return absl::IsDataLoss(writer_->Health()) || absl::IsDataLoss(router_->HistoryHealth()); }

 private:
  CollectorLife(std::shared_ptr<SimulatedDisk> disk, const Random& random);
  absl::Status Open(const std::string& directory, const StoreWriterOptions& writer, const Sabotage& sabotage,
                    WriteLedger& ledger);
  absl::Status StartShards();
  void StartShard(size_t index, const std::vector<wire::Incident>& incidents, const std::vector<LoggedJob>& logged);

  TimeLine clock_{RealClock()};
  const CollectorOptions options_;
  const Random random_;
  const std::shared_ptr<SimulatedDisk> disk_;
  const std::unique_ptr<rocksdb::Env> env_;
  CollectorMetrics metrics_{"simulated"};
  std::unique_ptr<HistoryStore> store_;
  std::unique_ptr<AlertSinks> sinks_;
  std::unique_ptr<AccessControl> access_;
  ReactionPool pool_;
  IncidentIndex incidents_;
  std::unique_ptr<IncidentIds> incident_ids_;
  AgentRegistry agents_;
  FailingSources sources_;
  GpuDirectory gpus_;
  std::unique_ptr<StoreWriter> writer_;
  std::unique_ptr<IncidentOutbox> outbox_;
  std::unique_ptr<QueryWorker> lookups_;
  std::unique_ptr<Router> router_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<IngestService> ingest_;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_COLLECTOR_LIFE_H_
