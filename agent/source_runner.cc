#include "agent/source_runner.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/printable_text.h"
#include "base/check.h"
#include "base/mutex.h"
#include "proto/resume.pb.h"

namespace lockstep {
namespace {

// Of the error of a source; enough for a path and a reason.
constexpr size_t kMaxErrorBytes = 512;

wire::SourceStatus::Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return wire::SourceStatus::OUTCOME_OK;
  if (IsNoData(status)) return wire::SourceStatus::OUTCOME_NO_DATA;
  return absl::IsDeadlineExceeded(status) ? wire::SourceStatus::OUTCOME_TIMED_OUT : wire::SourceStatus::OUTCOME_FAILED;
}

}  // namespace

// What became of one call.
struct SourceRunner::Answer {
  absl::Status status;
  int64_t duration_ns = 0;
  std::vector<std::string> parts;
};

SourceRunner::Answer SourceRunner::Ask(Source& source, const Clock& clock, const Tick& tick,
                                       wire::AgentReport& report) {
  const int64_t begin_ns = clock.MonotonicNanos();
  absl::Status status = source.Collect(tick, report);
  return Answer{std::move(status), clock.MonotonicNanos() - begin_ns, source.parts()};
}

std::vector<std::string> SourceRunner::TakeParts(const Answer& answer, Entry& entry) {
  // Who fails, or is asked no more, says nothing about parts.
  if (!answer.status.ok() || entry.comes_and_goes) return {};
  const std::set<std::string> found(answer.parts.begin(), answer.parts.end());
  std::vector<std::string> missing;
  for (const std::string& part : entry.parts) {
    if (missing.size() < kMaxMissing && found.count(part) == 0) missing.push_back(part);
  }
  for (const std::string& part : found) {
    if (entry.parts.size() < kMaxParts) entry.parts.insert(part);
  }
  return missing;
}

void SourceRunner::AddStatus(const Answer& answer, Entry& entry, wire::AgentReport& report) const {
  absl::Status status = answer.status;
  if (IsNoData(status) && entry.worked && !entry.comes_and_goes) {
    status = absl::UnavailableError(absl::StrCat("is gone: ", status.message()));
  }
  const std::vector<std::string> missing = TakeParts(answer, entry);
  if (!missing.empty()) {
    status = absl::UnavailableError(absl::StrCat(absl::StrJoin(missing, ", "), missing.size() == 1 ? " is" : " are",
                                                 " gone, and worked before in this boot of the machine"));
  }
  const wire::SourceStatus::Outcome outcome = OutcomeOf(status);
  const bool fails = outcome == wire::SourceStatus::OUTCOME_FAILED || outcome == wire::SourceStatus::OUTCOME_TIMED_OUT;
  const int64_t now_ns = clock_.MonotonicNanos();
  if (!fails) {
    entry.failing_since_ns.reset();
  } else if (!entry.failing_since_ns.has_value()) {
    entry.failing_since_ns = now_ns;
  }
  entry.worked = entry.worked || answer.status.ok();
  wire::SourceStatus& to = *report.add_sources();
  to.set_name(entry.name);
  to.set_duration_ns(answer.duration_ns);
  to.set_outcome(outcome);
  to.set_error(PrintableText(status.message(), kMaxErrorBytes));
  to.set_worked(entry.worked);
  for (const std::string& part : missing) to.add_missing(PrintableText(part, kMaxErrorBytes));
  // At least a nanosecond: 0 means that it does not fail.
  if (fails) to.set_failing_ns(std::max<int64_t>(now_ns - *entry.failing_since_ns, 1));
}

// A source and the thread that calls it. Thread-safe.
class SourceWorker {
 public:
  using Answer = SourceRunner::Answer;

  SourceWorker(std::unique_ptr<Source> source, const Clock& clock)
      // Shared between the thread and us, because either may be the last: a thread that hangs in a driver can neither
      // be joined nor cancelled, and what it will touch when the driver lets go of it must still be there.
      : shared_(std::make_shared<Shared>(std::move(source), clock)) {
    thread_ = std::thread([shared = shared_] { Run(*shared); });
  }

  ~SourceWorker() {
    bool hangs = false;
    {
      MutexLock lock(shared_->mutex);
      shared_->stop = true;
      hangs = shared_->busy;
    }
    shared_->changed.NotifyAll();
    if (hangs) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  // Hands the tick over unless the source still hangs in an earlier one; appends what that earlier one said, if it
  // came back meanwhile.
  void Start(const Tick& tick, wire::AgentReport& report) {
    wire::AgentReport late;
    {
      MutexLock lock(shared_->mutex);
      if (shared_->busy) return;
      late.Swap(&shared_->said);
      shared_->tick = tick;
      shared_->started_ns = shared_->clock.MonotonicNanos();
      shared_->busy = true;
    }
    shared_->changed.NotifyAll();
    report.MergeFrom(late);
  }

  // Waits until `deadline_ns` of RealClock, appends what the source says and returns its answer, or the lack of it.
  Answer Finish(int64_t deadline_ns, wire::AgentReport& report) {
    wire::AgentReport said;
    Answer answer;
    {
      MutexLock lock(shared_->mutex);
      while (shared_->busy) {
        const int64_t left_ns = deadline_ns - RealClock().MonotonicNanos();
        if (left_ns <= 0) break;
        shared_->changed.WaitFor(shared_->mutex, left_ns);
      }
      if (shared_->busy) {
        answer = Overdue(shared_->clock.MonotonicNanos() - shared_->started_ns);
      } else {
        answer = shared_->answer;
        said.Swap(&shared_->said);
      }
    }
    report.MergeFrom(said);
    return answer;
  }

 private:
  struct Shared {
    Shared(std::unique_ptr<Source> owned, const Clock& borrowed) : source(std::move(owned)), clock(borrowed) {}

    const std::unique_ptr<Source> source;  // called by the thread only
    const Clock& clock;
    Mutex mutex;
    CondVar changed;
    bool stop ABSL_GUARDED_BY(mutex) = false;
    bool busy ABSL_GUARDED_BY(mutex) = false;  // a tick is handed over and not answered
    Tick tick ABSL_GUARDED_BY(mutex);
    int64_t started_ns ABSL_GUARDED_BY(mutex) = 0;
    Answer answer ABSL_GUARDED_BY(mutex);           // to the last tick that was answered
    wire::AgentReport said ABSL_GUARDED_BY(mutex);  // what came with it, until it is taken
  };

  static Answer Overdue(int64_t waited_ns) {
    const double seconds = static_cast<double>(waited_ns) / kNanosPerSecond;
    return Answer{absl::DeadlineExceededError(absl::StrFormat("no answer for %.1f s", seconds)), waited_ns};
  }

  static void Run(Shared& shared) {
    while (true) {
      Tick tick;
      {
        MutexLock lock(shared.mutex);
        while (!shared.busy && !shared.stop) shared.changed.Wait(shared.mutex);
        if (shared.stop) return;
        tick = shared.tick;
      }
      wire::AgentReport said;
      Answer answer = SourceRunner::Ask(*shared.source, shared.clock, tick, said);
      {
        MutexLock lock(shared.mutex);
        shared.answer = std::move(answer);
        shared.said.Swap(&said);
        shared.busy = false;
      }
      shared.changed.NotifyAll();
    }
  }

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

SourceRunner::SourceRunner(const Clock& clock, int64_t deadline_ns) : clock_(clock), deadline_ns_(deadline_ns) {
  CHECK(deadline_ns > 0);
}

SourceRunner::~SourceRunner() = default;

void SourceRunner::Add(std::unique_ptr<Source> source, bool may_hang) {
  CHECK(source != nullptr);
  CHECK(entries_.size() < kMaxSources);
  Entry entry;
  entry.name = std::string(source->name());
  entry.comes_and_goes = source->comes_and_goes();
  if (may_hang) {
    entry.worker = std::make_unique<SourceWorker>(std::move(source), clock_);
  } else {
    entry.source = std::move(source);
  }
  entries_.push_back(std::move(entry));
}

std::string SourceRunner::resume_point() const {
  wire::ResumePoint point;
  point.set_monotonic_ns(last_tick_ns_);
  for (const Entry& entry : entries_) {
    if (entry.worked && !entry.comes_and_goes) point.add_worked(entry.name);
    if (!entry.parts.empty()) {
      wire::SourceParts& parts = *point.add_parts();
      parts.set_source(entry.name);
      parts.mutable_parts()->Add(entry.parts.begin(), entry.parts.end());
    }
    std::string position = entry.source == nullptr ? "" : entry.source->position();
    if (position.empty()) continue;
    wire::SourcePosition& to = *point.add_sources();
    to.set_source(entry.name);
    to.set_position(std::move(position));
  }
  return point.SerializeAsString();
}

void SourceRunner::Resume(const std::string& resume_point) {
  wire::ResumePoint point;
  if (!point.ParseFromString(resume_point)) return;
  for (Entry& entry : entries_) {
    if (entry.source != nullptr && point.of_another_boot()) entry.source->ResumeAfterBoot();
    const auto& worked = point.worked();
    entry.worked = entry.worked || std::find(worked.begin(), worked.end(), entry.name) != worked.end();
  }
  for (const wire::SourceParts& found : point.parts()) {
    for (Entry& entry : entries_) {
      if (entry.name != found.source()) continue;
      for (const std::string& part : found.parts()) {
        if (entry.parts.size() < kMaxParts) entry.parts.insert(part);
      }
    }
  }
  for (const wire::SourcePosition& position : point.sources()) {
    for (const Entry& entry : entries_) {
      if (entry.source != nullptr && entry.name == position.source()) entry.source->Resume(position.position());
    }
  }
}

void SourceRunner::Collect(const Tick& tick, wire::AgentReport& report) {
  last_tick_ns_ = tick.monotonic_ns;
  // The threads work while we do the rest.
  const int64_t deadline_ns = RealClock().MonotonicNanos() + deadline_ns_;
  for (const Entry& entry : entries_) {
    if (entry.worker != nullptr) entry.worker->Start(tick, report);
  }
  std::vector<Answer> answers(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].source != nullptr) answers[i] = Ask(*entries_[i].source, clock_, tick, report);
  }
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].worker != nullptr) answers[i] = entries_[i].worker->Finish(deadline_ns, report);
    AddStatus(answers[i], entries_[i], report);
  }
}

}  // namespace lockstep
