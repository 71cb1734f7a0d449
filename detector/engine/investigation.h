// One look at the operations of a running job: asks hosts for those that their agents hold, puts them together into a
// trace, and has it judged like a file.
//
// One round at a time: requests go out, answers come in with later reports, and the round is judged when all hosts have
// answered or patience is over. Where the operations of everybody would be too many bytes, a round has several parts
// (search_plan.h): everybody is asked for the communicators that couple the units of the job, then a few units for
// everything, and these are diagnosed as a job of their own. Where one of these communicators moves its data slowly,
// and costs more by it than any unit that comes late, its members are asked instead (slow_group.h). Answers that do not
// hold all steps hold the newest. When to look is look_schedule.h's business, what to make of it standing_findings.h's.
//
// Memory: max_operations records while a round is open, nothing between rounds. Pure; not thread-safe.

#ifndef LOCKSTEP_DETECTOR_ENGINE_INVESTIGATION_H_
#define LOCKSTEP_DETECTOR_ENGINE_INVESTIGATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "detector/engine/diagnosis.h"
#include "detector/engine/search_plan.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {

struct InvestigationOptions {
  double min_cost = 0.03;                 // as DiagnosisOptions
  int64_t patience_ns = 5'000'000'000;    // for answers
  int64_t min_window_ns = 2'000'000'000;  // of time that a round looks at
  int64_t max_window_ns = 900'000'000'000;
  uint64_t max_bytes = 25'000'000;  // of all answers of a round
  double scout_share = 0.4;         // of what is left of these, for a part that scouts
  double operation_bytes = 20;      // of one operation in an answer, about
  double batch_bytes = 48;          // on top, per second, rank and communicator
  double enough_share = 0.4;  // of the steps: if that many fit, all operations of the ranks in question are asked for
  int max_scouts = 3;         // parts of a round that scout
  size_t min_scope = 256;     // ranks of a unit inside which it pays to go on searching
  size_t max_operations = 8'000'000;
};

// A round that has ended.
struct LookedAt {
  Judgement judgement;
  double bytes = 0;  // of the answers of all parts, about
  size_t operations = 0;
};

class Investigation {
 public:
  explicit Investigation(const InvestigationOptions& options) : options_(options) {}

  // Takes in the answers of a report; those of an earlier round are ignored.
  void Observe(const HostReport& report);

  // Begins a round over the operations of the last `window_ns`, and returns the requests to send. Nothing while one is
  // open. `told`: for its judgement, as DiagnosisOptions.
  std::vector<PullRequest> Begin(const Roster& roster, int64_t watermark_ns, int64_t window_ns,
                                 std::set<std::string> told = {});
  // After everything up to `watermark_ns` was observed. Returns the requests of the round's next part.
  std::vector<PullRequest> Advance(const Roster& roster, int64_t watermark_ns);

  bool open() const { return part_ != Part::kNone; }
  // The round that has ended since the last call, if any.
  std::optional<LookedAt> Take();

  uint64_t rounds() const { return rounds_; }
  uint64_t discarded() const { return discarded_; }  // operations beyond max_operations

  // The round that is open is not judged: answers that are missing will not come, and those that came are old.
  void Abandon() { EndRound(); }

  // A new incarnation of the job: what was held means nothing any more.
  void Clear();

 private:
  // What is being waited for.
  enum class Part : uint8_t { kNone, kScout, kAll };

  // The next part of a round: scouts among the ranks in question, or asks them for everything.
  std::vector<PullRequest> BeginPart(const Roster& roster, int64_t watermark_ns);
  // What scouting tells: who is in question from now on.
  void Narrow(const Roster& roster);
  bool EnoughFits(const Roster& roster, const std::vector<int32_t>& slots) const;
  double PulledBytes() const;  // about, by the part that is open
  double UnusedBytes() const;  // about, of what was promised to the hosts that have answered
  // Asks the hosts of `slots` (all ranks when empty) for `communicators` (all when empty), and takes `bytes` for it.
  std::vector<PullRequest> Ask(const Roster& roster, const std::vector<int32_t>& slots,
                               const std::vector<CommunicatorId>& communicators, double bytes);
  void Conclude(const Roster& roster);
  void EndRound();
  void ForgetPulled();

  InvestigationOptions options_;
  Part part_ = Part::kNone;
  SearchPlan plan_;             // while scouting
  int scouts_ = 0;              // parts of the round that scouted
  std::vector<int32_t> scope_;  // rank slots in question; empty = all
  double bytes_left_ = 0;       // of the round
  double bytes_asked_ = 0;      // of these, promised to the part that is open
  double bytes_pulled_ = 0;     // by the round's parts that are over
  std::set<std::string> told_;  // of the round
  int64_t window_ns_ = 0;
  int64_t begun_ns_ = 0;  // the part
  uint64_t first_id_ = 1;
  uint64_t next_id_ = 1;
  std::set<std::string> awaited_;  // hosts
  std::vector<PulledOperations> pulled_;
  size_t operations_ = 0;
  uint64_t missing_ = 0;  // of the round, beyond max_operations
  uint64_t rounds_ = 0;
  uint64_t discarded_ = 0;
  std::optional<LookedAt> ended_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_INVESTIGATION_H_
