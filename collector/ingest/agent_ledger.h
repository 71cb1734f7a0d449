// What has become of the reports of one agent incarnation: handed over, then stored, then acknowledged.
//
// A report counts as accepted once all of its slices were taken by their shards, and never before. How many of the
// newest report were taken is kept here and not with the stream. A stream that ends in between therefore loses
// nothing: the agent sends the report again, and the next stream goes on with the first slice that was not taken.
//
// A report is stored when all of its slices are, and is acknowledged when every accepted report before it is stored as
// well. A slice that could not be kept (the store was full for too long) blocks the acknowledgements from its report
// on until Rewind, after which the agent sends these again. What was accepted before the loss stays accepted.
//
// Memory: one small entry per report that shards and store hold, and none for what is not delivered. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INGEST_AGENT_LEDGER_H_
#define LOCKSTEP_COLLECTOR_INGEST_AGENT_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "detector/model/place_table.h"
#include "proto/ingest.pb.h"

namespace lockstep {

// The connection of an agent, as the rest of the collector sees it. Thread-safe; never blocks.
class AgentStream {
 public:
  virtual ~AgentStream() = default;

  // Reports up to `sequence` are stored: tell the agent.
  virtual void OnStored(uint64_t sequence) = 0;

  // A queue that was full may have room again.
  virtual void Resume() = 0;

  // Sends a command, after those before it. False = too many wait, or the agent has not been admitted.
  virtual bool Send(const wire::Command& command) = 0;

  // Where the agent is, as the transport says it: "ipv4:10.0.0.7:40312".
  virtual std::string peer() const = 0;

  // Ends the stream with `status`.
  virtual void Close(const absl::Status& status) = 0;
};

class AgentLedger : public std::enable_shared_from_this<AgentLedger> {
 public:
  // The place of one accepted report in the ledger; travels with each of its slices.
  struct Ticket {
    std::shared_ptr<AgentLedger> ledger;
    uint64_t sequence = 0;
    uint32_t epoch = 0;
  };

  AgentLedger(std::string host, uint64_t incarnation, uint64_t stored_sequence, Places places = {});

  const std::string& host() const { return host_; }
  const Places& places() const { return places_; }  // of the host, as the agent said hello
  uint64_t incarnation() const { return incarnation_; }

  // What came of handing over a report.
  enum class Handover {
    kAccepted,  // all of it is where it belongs, now or since an earlier stream
    kFull,      // a shard takes no more at present: try again later, with the same report
    kDetached,  // another stream has taken this one's place, or Rewind has: the agent sends the report again
  };

  // Offers the slices that are still missing of report `sequence`, in order, until `push` refuses one. `push` gets the
  // index of the slice and the ticket that has to travel with it. It must not block and must not call the ledger.
  // A report that comes again must be the same: if it has another number of slices, those not taken are left out.
  // Only the attached stream hands over, so that what an earlier one still holds cannot overtake what is sent again.
  using Push = std::function<bool(size_t index, Ticket ticket)>;
  Handover HandOver(const AgentStream* stream, uint64_t sequence, size_t slices, const Push& push);

  // A report arrived at `wall_ns`. True if it was accepted before: it need not be looked at.
  bool NoteArrival(uint64_t sequence, int64_t wall_ns);

  // One slice of the ticket's report is part of the batch that is about to be stored.
  void CompleteSlice(const Ticket& ticket);

  // The newest report up to which all are complete: what the batch that is about to be stored may vouch for.
  uint64_t completed_sequence() const;

  // The batch is stored: acknowledges to the connected stream.
  void PublishStored(uint64_t sequence);

  // A slice of the ticket's report was thrown away; see Rewind.
  void MarkLost(const Ticket& ticket);

  // If a slice was lost: forgets its report and all after it, so that they are accepted again, and closes the stream,
  // so that the agent sends them again. True if there was anything to do.
  bool Rewind();

  // Whether a slice of the report, or of one before it, was lost, and Rewind is still to come.
  bool IsBehindLoss(const Ticket& ticket) const;

  // Whether the report belongs to what Rewind has forgotten.
  bool IsStale(const Ticket& ticket) const;

  // Sends a command over the attached stream. False = there is none, or it takes no more.
  bool Send(const wire::Command& command) const;

  // The stream to acknowledge to; replaces the one before, which is returned (nullptr if gone).
  std::shared_ptr<AgentStream> Attach(const std::shared_ptr<AgentStream>& stream);

  // Ends the attachment, if `stream` is still the attached one.
  void Detach(const AgentStream* stream);

  bool connected() const;
  uint64_t stored_sequence() const;
  uint64_t accepted_sequence() const;
  int64_t last_report_wall_ns() const;  // 0 = never

 private:
  // A report of which a shard has taken a slice, until all of them are part of a batch.
  struct Pending {
    uint64_t sequence;
    uint32_t epoch;
    size_t slices_left;
  };
  // The report that is being handed over: how many of its slices were taken.
  struct Arriving {
    uint64_t sequence = 0;
    size_t slices = 0;
    size_t taken = 0;
  };

  bool IsAttachedLocked(const AgentStream* stream) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Where the ticket's report is in `pending_`; its size if it is not there.
  size_t FindPendingLocked(const Ticket& ticket) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void GiveUpArrivingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PopCompletedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string host_;
  const uint64_t incarnation_;
  const Places places_;
  mutable Mutex mutex_;
  uint64_t accepted_ ABSL_GUARDED_BY(mutex_);
  uint64_t completed_ ABSL_GUARDED_BY(mutex_);
  uint64_t stored_ ABSL_GUARDED_BY(mutex_);
  uint32_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lost_from_ ABSL_GUARDED_BY(mutex_) = 0;  // the oldest report with a slice that was lost; 0 = none
  int64_t last_report_wall_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Arriving> arriving_ ABSL_GUARDED_BY(mutex_);
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);  // by sequence; bounded by the queues behind it
  std::weak_ptr<AgentStream> stream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INGEST_AGENT_LEDGER_H_
