// What is demanded of nodes at present: who was asked for what, and who waits for the answer.
//
// A demand is about one process and is answered exactly once: by the agent, or here, where it cannot be asked, refuses,
// loses a part, or says nothing in time. What is open is bounded in all, per job and per host, and per process it is
// one. A collector that is started again has forgotten its demands; what agents still answer then is counted and
// thrown away. Thread-safe; nothing here blocks.

#ifndef LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_BOOK_H_
#define LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/demand_metrics.h"
#include "proto/demand.pb.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// A kind of demand as the collector knows it; the agents have the work (agent/demand_table.cc). Immutable.
struct DemandKindRow {
  absl::string_view name;
  size_t max_parameter_bytes;
  size_t max_answer_bytes;
  int64_t patience_ns;  // for the answer
  size_t peers = 0;     // further ranks that are asked as well, because answers are compared
};

// The row of that name; nullptr = there is none.
const DemandKindRow* FindDemandKind(absl::string_view name);

// INVALID_ARGUMENT for a kind that there is not, or parameters that are too long. Pure.
absl::Status CheckDemand(absl::string_view kind, absl::string_view parameters);

// Whose process. Plain value; thread-compatible.
struct DemandTarget {
  std::string host;
  int32_t rank = -1;
  int32_t pid = 0;
  int32_t duty = -1;  // of the rank: those of equal duty do the same work; -1 = not known
};

// What is demanded of some processes of one job. Plain value; thread-compatible.
struct DemandOrder {
  std::string kind;
  std::string job;
  std::string parameters;
  std::vector<DemandTarget> targets;
};

// What came of one target. Plain value; thread-compatible.
struct DemandResult {
  DemandTarget target;
  wire::DemandAnswer::Outcome outcome = wire::DemandAnswer::OUTCOME_UNSPECIFIED;
  std::string reason;   // why it was not done
  std::string payload;  // a message of the kind
};

class DemandBook {
 public:
  static constexpr size_t kMaxOpen = 128;
  static constexpr size_t kMaxOpenOfJob = 64;
  static constexpr size_t kMaxOpenOfHost = 16;

  // Sends a command to the agent of a host; false when it is not connected or has too much to do.
  using Send = std::function<bool(const std::string& host, const wire::Command& command)>;
  // Whether the agent of a host has said that it does `kind`.
  using Offers = std::function<bool(const std::string& host, absl::string_view kind)>;
  // Told of each target once, from any thread, without a lock of the book; must not block.
  using Answer = std::function<void(const DemandResult& result)>;

  // Borrows `clock` and `metrics`.
  DemandBook(Send send, Offers offers, const Clock& clock, DemandMetrics& metrics);

  // Demands what CheckDemand allows. May call `answer` before it returns.
  void Open(const DemandOrder& order, const Answer& answer);

  // A part of an answer has come from the agent of `host`. One that nobody waits for is counted.
  void OnAnswer(const std::string& host, const wire::DemandAnswer& part);

  // Gives up what was not answered in time. To be called once per second.
  void Expire();

  size_t open() const;

 private:
  struct Demand {
    std::string job;
    DemandResult result;  // as far as it has come
    size_t max_bytes = 0;
    uint32_t parts = 0;  // that have come
    int64_t deadline_ns = 0;
    Answer answer;
  };

  // Why this one cannot be opened; OK = it can.
  absl::Status CheckRoomLocked(const std::string& job, const DemandTarget& target) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Begin(const DemandOrder& order, const DemandKindRow& kind, const DemandTarget& target, const Answer& answer);
  // Takes the demand out of the book and tells who waits.
  void Conclude(uint64_t id, wire::DemandAnswer::Outcome outcome, const std::string& reason);
  void Tell(const DemandResult& result, const Answer& answer);

  const Send send_;
  const Offers offers_;
  const Clock& clock_;
  DemandMetrics& metrics_;
  mutable Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Demand> demands_ ABSL_GUARDED_BY(mutex_);  // by id
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DEMANDS_DEMAND_BOOK_H_
