// Which job the processes of the fleet belong to, where nobody has chosen a name: one job on many nodes is one, however
// many names its parts were given.
//
// Names that recorder and agent make up (convert/job_name.h) are those of parts: of the communicator that a process
// knew when it was named, of the meeting place as its node calls it, or none in release 0.1.0. Processes that are
// members of one NCCL communicator are of one job, so that its parts become one when a communicator joins them. The
// name that stays is the one that says most, of such the one that was there first; a job that nobody has named, in pods
// of a namespace, is "k8s-NAMESPACE/nccl-...". A name that was chosen is never changed, and no two of them become one.
//
// What a process says is not believed across users: parts of one job agree in the namespace of their pods, or where
// that is not known in the user whose ring it is. Agents of 0.1.0 tell no user; such a process becomes a part of jobs
// without a name only. A name that was made up, and that the job of another namespace or user has, gets the owner
// behind it ("torch-node-1:29500@uid1001"): who runs next at a place neither joins nor ends what ran there. An agent
// that is believed of some jobs alone has no say here (ReportSink::Prepare). Parts of one job agree in the number of
// its ranks, too, and no communicator has more members: a process that talks to another job (a trainer and its
// inference servers) does not make the two one.
//
// Bounded: kMaxJobs, kMaxCommunicators of them, kMaxPerHost by reports of one host and kMaxPerProcess of one process.
// What does not fit keeps its own name, and is counted. Thread-safe; never blocks.

#ifndef LOCKSTEP_COLLECTOR_JOB_NAMES_H_
#define LOCKSTEP_COLLECTOR_JOB_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "collector/convert/job_name.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class JobNames {
 public:
  static constexpr size_t kMaxJobs = 20'000;
  static constexpr size_t kMaxCommunicators = 400'000;
  static constexpr size_t kMaxPerHost = 4'096;     // communicators that were first seen there
  static constexpr int kMaxPerProcess = 64;        // communicators that are looked at, the first ones
  static constexpr size_t kMaxNameless = 100'000;  // processes that tell no name at all
  // How long such a process waits for a communicator of all its ranks, as in agent/sources/rings/job_fingerprint.h.
  static constexpr int64_t kSettledNanos = 60 * kNanosPerSecond;

  // A job that turned out to be a part of another one: nobody reports under its name from now on.
  struct United {
    std::string part;
    std::string whole;
  };

  // Gives the processes of `report`, which `host` has sent, the names of their jobs.
  std::vector<United> Settle(const std::string& host, int64_t now_ns, wire::AgentReport& report);

  // Takes in what an earlier life made of the processes of `report`: they are of `job`, if that was not chosen. Later
  // calls know better.
  void Restore(const std::string& host, const std::string& job, int64_t now_ns, const wire::AgentReport& report);

  // Forgets jobs without a report for longer than `after_ns`. To be called every now and then; looks once a minute.
  void ForgetSilent(int64_t now_ns, int64_t after_ns);

  // How many jobs, communicators and processes did not fit since the last call.
  uint64_t TakeRefused();

 private:
  // What the parts of one job agree in.
  struct Traits {
    int64_t uid = -1;        // -1 = not known
    std::string name_space;  // "" = not known, or none
    int32_t world_size = -1;
  };
  // What a process says of its job.
  struct Speaker {
    JobNameKind kind = JobNameKind::kNone;
    Traits traits;
    std::vector<uint64_t> communicators;
  };
  struct Job {
    std::string name;
    JobNameKind kind = JobNameKind::kFingerprint;  // never kNone
    int64_t born = 0;                              // the smaller, the longer its name is in use
    Traits traits;
    int64_t seen_ns = 0;
    std::shared_ptr<Job> whole;  // that it is a part of; nullptr = it is none
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Member {
    JobPtr job;
    size_t* of_host;  // the counter of the host that has told of it first
  };
  // A process that tells no name.
  struct Nameless {
    std::string job;  // "" = not known yet
    int64_t first_ns = 0;
    int64_t seen_ns = 0;
  };
  using ProcessKey = std::tuple<std::string, int32_t, uint64_t>;  // host, pid, start

  static Speaker SpeakerOf(const wire::ProcessReport& process);
  static JobPtr WholeOf(JobPtr job);
  static bool Beats(const Job& a, const Job& b);
  // Whether what has a name of that kind may be a part of `job`.
  static bool MayJoin(JobNameKind kind, const Traits& traits, const Job& job);
  // Whether what has the name of `job` is known to be somebody else's.
  static bool AreOthers(const std::string& name, const Traits& traits, const Job& job);
  static bool IsStranger(const std::string& own, const Speaker& speaker, const Job& home);
  static void Absorb(const Traits& traits, Job& job);

  std::string NameLocked(const std::string& host, int64_t now_ns, const wire::ProcessReport& process,
                         std::vector<United>& united) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes those of `parts` that may be parts of `job` so.
  void UniteLocked(const std::string& host, const std::vector<JobPtr>& parts, const JobPtr& job,
                   std::vector<United>& united) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What the process would be called if it stood alone; "" = it cannot be told yet.
  std::string OwnNameLocked(const std::string& host, int64_t now_ns, const wire::ProcessReport& process,
                            const Speaker& speaker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `own`, or that name with the owner where another one's job has it.
  std::string NameAmongOthersLocked(const std::string& own, const Speaker& speaker) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The jobs of its communicators that the process may be a part of, each once.
  std::vector<JobPtr> CandidatesLocked(const Speaker& speaker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  JobPtr FindLocked(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullptr = there are too many.
  JobPtr MakeLocked(const std::string& name, int64_t born) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddMemberLocked(const std::string& host, uint64_t communicator, const JobPtr& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, JobPtr> jobs_ ABSL_GUARDED_BY(mutex_);             // by name; also parts of others
  absl::flat_hash_map<uint64_t, Member> members_ ABSL_GUARDED_BY(mutex_);  // by communicator
  std::map<std::string, size_t> hosts_ ABSL_GUARDED_BY(mutex_);            // members that it has told of first
  std::map<ProcessKey, Nameless> nameless_ ABSL_GUARDED_BY(mutex_);
  int64_t newest_born_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t oldest_born_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t looked_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // for what to forget
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_JOB_NAMES_H_
