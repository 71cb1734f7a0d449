// Who takes part in one job: hosts, ranks, communicators and the progress of every member, as last reported.
//
// Ranks, hosts and communicators are numbered densely in order of appearance ("slots"); numbers of a roster mean
// nothing in another one. A communicator's `members` are indexed by communicator rank. Progress is only as fresh as
// `received_ns` of the member's rank. One roster describes one incarnation of the job: a new process for a known rank
// that is over or silent makes Admit answer kNewIncarnation, and the owner begins a new roster with Retire(). Limits:
// see RosterLimits; what did not fit is counted. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_MODEL_ROSTER_H_
#define LOCKSTEP_DETECTOR_MODEL_ROSTER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "detector/model/input.h"
#include "detector/model/operation_kind.h"
#include "detector/model/process_end.h"

namespace lockstep {

struct RosterLimits {
  int max_ranks = 100'000;
  int max_communicators = 400'000;
  int64_t max_memberships = 1'600'000;  // over all communicators
  // For how long a process may say nothing before another one may be its rank. 0 = it may be that at once.
  int64_t host_silent_ns = 0;
};

// One member of a communicator.
struct Member {
  int32_t rank_slot = -1;  // -1 = has not reported yet
  bool freed = false;
  uint64_t enqueued = 0;
  uint64_t started = 0;
  uint64_t finished = 0;
  int64_t idle_ns = 0;
  std::optional<InFlightOperation> in_flight;     // the oldest
  std::optional<InFlightRest> further_in_flight;  // absent = not told
  int64_t oldest_since_ns = 0;  // collector's clock: `in_flight` has been the oldest for no longer than since then
  uint64_t last_record = 0;     // highest sequence whose record was seen

  // For how long the rank has been inside of an operation in flight, as of its report: since it began; where that is
  // not told, since it was called, but not before it, or the one in front of it, was the oldest.
  int64_t InsideNs(const InFlightOperation& operation, int64_t received_ns) const {
    if (operation.started && operation.inside_ns > 0) return operation.inside_ns;
    return std::min(operation.age_ns, received_ns - oldest_since_ns);
  }
};

// How long anybody spent inside operations.
struct Stays {
  uint64_t known = 0;      // the first few of each member included
  int64_t longest_ns = 0;  // without these
};

struct Communicator {
  CommunicatorId id = 0;
  std::string name;
  int32_t size = 0;
  int32_t reported = 0;  // members that have reported
  // A barrier is called where ranks are expected to wait for something else, such as a checkpoint: by itself.
  Stays with_data, barriers;
  // The newest synchronous collective of which a record says that a member left it. All members have entered it,
  // whatever they report of themselves. 0 = none. And when its record was first received.
  uint64_t entered_by_all = 0;
  int64_t entered_by_all_since_ns = 0;
  std::vector<Member> members;

  const Stays& StaysOf(OperationKind kind) const { return kind == OperationKind::kBarrier ? barriers : with_data; }
  Stays& StaysOf(OperationKind kind) { return kind == OperationKind::kBarrier ? barriers : with_data; }
};

// How a rank's process used the CPU between reports: a short history.
struct CpuSample {
  int64_t host_ns = 0;
  int64_t cpu_ns = 0;
  uint64_t operations_finished = 0;
  bool uninterruptible = false;
};

// The newest operation of which a rank has left a record.
struct LastOperation {
  int32_t communicator_slot = -1;  // -1 = none
  OperationKind kind = OperationKind::kUnknown;
  uint64_t sequence = 0;
  int64_t end_ns = 0;  // host clock
};

struct RankProcess {
  int32_t rank = -1;
  int32_t host_slot = -1;
  int32_t pid = 0;
  uint64_t process_start_ticks = 0;
  int32_t local_rank = -1;
  int32_t gpu = -1;
  std::string gpu_uuid;
  std::string gpu_pci_address;
  std::string pod;
  ProcessState state = ProcessState::kUnknown;
  bool finalized = false;
  bool disabled = false;
  bool unsized = false;  // uses a communicator whose size is not known: nobody can say what it waits for there
  bool can_watch_transfers = false;
  // Of its records, also in communicators of which nobody knows yet how large they are.
  bool tells_calls = false;                                // they tell when operations were called from when they began
  int64_t newest_end_ns = 0;                               // host clock
  TimingQuality newest_quality = TimingQuality::kUnknown;  // of the one that ended last: what its recorder sees now
  uint64_t called = 0;                                     // operations that its recorder has counted
  uint64_t lost = 0;                                       // of them, without a record
  int64_t received_ns = 0;                                 // of the newest report about it
  int64_t alive_ns = 0;  // collector's clock: when its agent saw it last; nobody is blamed for when nobody listened
  int64_t gone_since_ns = 0;  // receive time of the first report that it is dead; 0 = it lives
  // Of one that is dead: how, and when at the latest, on the collector's clock and on its host's. What its agent does
  // not tell is as its reports show it: it died after the last one that has it alive.
  ProcessEnd end;
  int64_t ended_ns = 0;
  int64_t ended_host_ns = 0;
  LastOperation last;
  int64_t stopped_since_ns = 0;  // receive time of the first of the reports in a row that say kStopped; 0 = it is not

  struct Membership {
    int32_t communicator_slot;
    int32_t member;
  };
  std::vector<Membership> memberships;

  // Bound of memory.
  static constexpr int kCpuSamples = 8;
  std::vector<CpuSample> cpu;  // oldest first, at most kCpuSamples

  bool dead() const { return state == ProcessState::kGone || state == ProcessState::kZombie; }
};

struct Host {
  std::string name;
  int64_t received_ns = 0;
  int64_t reported_ns = 0;  // the same, whatever silence was forgiven
};

class Roster {
 public:
  explicit Roster(const RosterLimits& limits) : limits_(limits) {}

  // Counts the silence of every host from `now_ns` on.
  void ForgiveSilence(int64_t now_ns);

  enum class Admission { kAccepted, kIgnored, kNewIncarnation, kContested };

  // Whether `view`, one of `report`, belongs to the incarnation that this roster describes. One that is older than what
  // is known of the same process came late, from an agent before the present one: it is ignored. kContested: another
  // process is that rank, and lives as far as its host tells. Changes nothing. O(ranks of the report).
  Admission Admit(const HostReport& report, const RankView& view) const;

  // Takes in an admitted view; nullptr when a limit forbids it (counted). `waited_ns`: as of HostReport.
  RankProcess* Update(int32_t host_slot, const RankView& view, int64_t received_ns, int64_t host_ns,
                      int64_t waited_ns = 0);

  // Takes in one communicator of an updated rank and gives its slot and the index of the member; -1 when it
  // contradicts what is known or a limit forbids it (counted).
  struct Place {
    int32_t communicator_slot = -1;
    int32_t member = -1;
  };
  Place Join(int32_t rank_slot, const CommunicatorView& view) { return Join(rank_slot, view, view.size); }
  // The same where the recorder does not know the size.
  Place Join(int32_t rank_slot, const CommunicatorView& view, int32_t size);

  // Its size was not what it was believed to be: from now on nothing is in flight there, and its members are held to
  // move, so that nobody is accused by what was recorded.
  void Abandon(CommunicatorId id);

  // Notes that `host` reported, and gives its slot.
  int32_t TouchHost(const std::string& host, int64_t received_ns);

  // Forgets everything but the processes, which will be ignored from now on, and the hosts.
  void Retire();

  const std::vector<RankProcess>& ranks() const { return ranks_; }
  const std::vector<Host>& hosts() const { return hosts_; }
  const std::vector<Communicator>& communicators() const { return communicators_; }
  Communicator& communicator(int32_t slot) { return communicators_[static_cast<size_t>(slot)]; }
  int32_t world_size() const { return world_size_; }
  int32_t SlotOfRank(int32_t rank) const;
  int32_t SlotOfCommunicator(CommunicatorId id) const;  // -1 = nobody has reported it
  const std::string& HostName(int32_t rank_slot) const;
  uint64_t refused() const { return refused_; }  // views that did not fit or contradicted

 private:
  using ProcessKey = std::tuple<std::string, int32_t, uint64_t>;  // host, pid, start

  bool Lives(const RankProcess& known, const HostReport& report) const;

  RosterLimits limits_;
  std::vector<RankProcess> ranks_;
  std::vector<int32_t> slot_of_rank_;  // by rank
  std::vector<Host> hosts_;
  absl::flat_hash_map<std::string, int32_t> slot_of_host_;
  std::vector<Communicator> communicators_;
  absl::flat_hash_map<CommunicatorId, int32_t> slot_of_communicator_;
  absl::flat_hash_set<ProcessKey> retired_;
  int32_t world_size_ = -1;
  int64_t memberships_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_ROSTER_H_
