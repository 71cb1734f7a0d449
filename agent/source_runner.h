// Asks every source once per tick and says how each of them did.
//
// A source that reads plain memory of the kernel is called in place. One that may hang (a driver, a vendor library,
// firmware behind a file) gets a thread of its own and a deadline: if it does not come back, it is TIMED_OUT in this
// tick and in every later one until it does, and nothing else waits for it. A blocked driver is a finding in itself.

#ifndef LOCKSTEP_AGENT_SOURCE_RUNNER_H_
#define LOCKSTEP_AGENT_SOURCE_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "agent/source.h"
#include "base/clock.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

class SourceWorker;

// Owns the sources. Not thread-safe: one thread adds and collects.
class SourceRunner {
 public:
  // Sources that a runner takes; far more than the table has rows.
  static constexpr size_t kMaxSources = 64;

  // `clock` measures durations; it must outlive every thread of a source, also one that hangs. `deadline_ns` is how
  // long a tick waits, in real time, for all sources that may hang together.
  SourceRunner(const Clock& clock, int64_t deadline_ns);
  // Does not wait for a source that hangs: its thread is left behind and ends by itself if the source ever returns.
  ~SourceRunner();
  SourceRunner(const SourceRunner&) = delete;
  SourceRunner& operator=(const SourceRunner&) = delete;

  void Add(std::unique_ptr<Source> source, bool may_hang);

  // Parts that a runner remembers of one source, and that a status lists; further ones are not looked for.
  static constexpr size_t kMaxParts = 256;
  static constexpr size_t kMaxMissing = 16;

  // Another deadline, from the next Collect on.
  void SetDeadline(int64_t deadline_ns) { deadline_ns_ = deadline_ns; }

  // Appends what the sources have to say and one SourceStatus for each source, in the order in which they were added.
  // A source that has no data any more, though what it looks at does not come and go, has failed; so has one that works
  // without a part of the machine that it had before.
  // What a source says after its deadline is appended in the next tick: its samples carry the time they belong to.
  void Collect(const Tick& tick, wire::AgentReport& report);

  // How far all sources have read, which have ever worked and what they found, a wire::ResumePoint; and its way back: a
  // source that has worked for an agent before us and has no data, or less in this boot, has failed, too.
  std::string resume_point() const;
  void Resume(const std::string& resume_point);

 private:
  struct Entry {
    std::unique_ptr<Source> source;        // called in place, or
    std::unique_ptr<SourceWorker> worker;  // called on a thread
    std::string name;
    bool comes_and_goes = false;
    bool worked = false;
    std::set<std::string> parts;  // found so far, at most kMaxParts
    absl::optional<int64_t> failing_since_ns;
  };
  struct Answer;

  // What the source found is remembered; what it had found before and has not any more is given back.
  static std::vector<std::string> TakeParts(const Answer& answer, Entry& entry);
  static Answer Ask(Source& source, const Clock& clock, const Tick& tick, wire::AgentReport& report);
  void AddStatus(const Answer& answer, Entry& entry, wire::AgentReport& report) const;

  friend class SourceWorker;

  const Clock& clock_;
  int64_t deadline_ns_;
  std::vector<Entry> entries_;
  int64_t last_tick_ns_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCE_RUNNER_H_
