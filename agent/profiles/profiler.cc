#include "agent/profiles/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/kineto/dynolog_message.h"
#include "agent/printable_text.h"
#include "agent/profiles/profile_order.h"
#include "agent/profiles/trace_bytes.h"
#include "agent/rooted_fs.h"
#include "agent/sources/rings/process_finder.h"
#include "agent/sources/rings/process_status.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "detector/patterns/pattern_builder.h"
#include "detector/patterns/rank_patterns.h"
#include "formats/byte_source.h"
#include "formats/kineto_profile.h"
#include "formats/pattern_message.h"

namespace lockstep {
namespace {

// A trace that has not grown for so long is not going to.
constexpr int64_t kGivenUpNanos = 20 * kNanosPerSecond;
constexpr size_t kMaxNoteBytes = 256;
constexpr size_t kMaxEnvironmentBytes = size_t{256} << 10;
constexpr char kEnding[] = "the agent ends";

// One order in the endpoint, for as long as somebody waits for what comes of it.
class HeldOrder {
 public:
  HeldOrder(FabricEndpoint& fabric, const DemandedProcess& process)
      : fabric_(fabric), process_{process.pid, process.start_ticks} {}
  ~HeldOrder() { fabric_.Withdraw(process_); }
  HeldOrder(const HeldOrder&) = delete;
  HeldOrder& operator=(const HeldOrder&) = delete;

  absl::Status Leave(std::string text) { return fabric_.Leave(process_, std::move(text)); }
  bool IsTaken() const { return fabric_.IsTaken(process_); }

 private:
  FabricEndpoint& fabric_;
  const FabricProcess process_;
};

// The pid by which the process calls itself.
int32_t OwnPid(int32_t pid) {
  const absl::StatusOr<RootedFs> root = RootedFs::Open("/");
  if (!root.ok()) return pid;
  const auto status = root->ReadFile(absl::StrCat("proc/", pid, "/status"), kMaxStatusBytes);
  return status.ok() ? InnermostPid(*status).value_or(pid) : pid;
}

// Whether it ends as a trace does, which is an object of JSON.
bool LooksWhole(const OpenTrace& trace) {
  char end[16];
  const off_t from = std::max<int64_t>(0, trace.bytes - static_cast<int64_t>(sizeof(end)));
  const ssize_t got = pread(trace.fd.get(), end, sizeof(end), from);
  return absl::EndsWith(absl::StripTrailingAsciiWhitespace({end, static_cast<size_t>(std::max<ssize_t>(0, got))}), "}");
}

// Watches the size of a file. Not thread-safe.
class Growth {
 public:
  // Whether it is time to read the trace: it is over the limit, whole by its looks, or forsaken.
  bool IsOver(const OpenTrace& trace, int64_t now_ns) {
    if (trace.bytes != bytes_) {
      bytes_ = trace.bytes;
      since_ns_ = now_ns;
    }
    const int64_t quiet_ns = now_ns - since_ns_;
    if (bytes_ == 0) return false;
    return bytes_ > Profiler::kMaxTraceBytes || quiet_ns >= kGivenUpNanos ||
           (quiet_ns >= Profiler::kQuietNanos && LooksWhole(trace));
  }

 private:
  int64_t bytes_ = -1;
  int64_t since_ns_ = 0;
};

}  // namespace

absl::StatusOr<Profiler::Place> Profiler::PlaceOf(const DemandedProcess& process) const {
  absl::StatusOr<TraceFolder> folder = TraceFolder::Open(process, folder_);
  if (folder.ok() && folder->IsTrusted()) return Place{*std::move(folder), folder_};
  if (!folder.ok() && !absl::IsNotFound(folder.status())) return folder.status();
  ASSIGN_OR_RETURN(TraceFolder usual, TraceFolder::Open(process, kUsualFolder));
  return Place{std::move(usual), kUsualFolder};
}

absl::StatusOr<std::string> Profiler::Profile(const DemandCall& call) const {
  wire::ProfileParameters parameters;
  if (!parameters.ParseFromString(call.parameters)) return absl::InvalidArgumentError("parameters cannot be read");
  ASSIGN_OR_RETURN(const Place place, PlaceOf(call.process));
  const std::string stem = absl::StrFormat("lockstep-profile-%016x", SeedFromSystem());
  // Some versions put the pid behind the name that they are given.
  const std::string names[] = {stem + ".json", absl::StrCat(stem, "_", OwnPid(call.process.pid), ".json")};
  const std::string text = ProfileOrder(parameters, absl::StrCat(place.path, "/", names[0]));
  HeldOrder order(fabric_, call.process);
  const absl::Status left = order.Leave(text);
  const bool by_dynolog = absl::IsUnavailable(left) && dynolog_ != nullptr;
  if (!by_dynolog) RETURN_IF_ERROR(left);
  if (by_dynolog) RETURN_IF_ERROR(AskDynolog(call, text));
  absl::StatusOr<std::string> answer = Await(call, parameters, place, names);
  if (!absl::IsDeadlineExceeded(answer.status()) || !answer.status().message().empty()) return answer;
  constexpr absl::string_view kWroteNone =
      "has written none in time: its program may not count steps as optimizers of PyTorch do, or its steps take too "
      "long";
  if (by_dynolog)
    return absl::DeadlineExceededError(absl::StrCat("dynolog was to tell the process, which ", kWroteNone));
  return absl::DeadlineExceededError(
      order.IsTaken() ? absl::StrCat("the process was told to take a profile and ", kWroteNone)
                      : "the process has registered for profiles and has not asked for its orders in time");
}

absl::Status Profiler::AskDynolog(const DemandCall& call, const std::string& order) const {
  ASSIGN_OR_RETURN(const RootedFs root, RootedFs::Open("/"));
  const auto environment = root.ReadFile(absl::StrCat("proc/", call.process.pid, "/environ"), kMaxEnvironmentBytes);
  const DynologProcess process = {.pid = OwnPid(call.process.pid), .job = SlurmJobOf(environment.value_or(""))};
  return dynolog_->Order(process, order, call.stop);
}

// An error without a message: nothing has come in time.
absl::StatusOr<std::string> Profiler::Await(const DemandCall& call, const wire::ProfileParameters& parameters,
                                            const Place& place, absl::Span<const std::string> names) const {
  Growth growth;
  while (clock_.MonotonicNanos() < call.deadline_ns) {
    for (const std::string& name : names) {
      absl::StatusOr<OpenTrace> trace = place.folder.OpenFile(name);
      if (absl::IsNotFound(trace.status())) continue;
      RETURN_IF_ERROR(trace.status());
      if (!growth.IsOver(*trace, clock_.MonotonicNanos())) continue;
      absl::StatusOr<wire::RankProfile> profile = Read(call, name, *std::move(trace));
      if (parameters.keep() && profile.ok()) profile->set_trace(absl::StrCat(place.path, "/", name));
      const absl::Status removed = parameters.keep() ? absl::OkStatus() : place.folder.Remove(name);
      RETURN_IF_ERROR(profile.status());
      if (!removed.ok()) {
        profile->set_trace(absl::StrCat(place.path, "/", name));
        profile->add_notes(PrintableText(removed.message(), kMaxNoteBytes));
      }
      return profile->SerializeAsString();
    }
    if (call.stop.WaitFor(kLookNanos)) return absl::CancelledError(kEnding);
  }
  return absl::DeadlineExceededError("");
}

absl::StatusOr<wire::RankProfile> Profiler::Read(const DemandCall& call, const std::string& name,
                                                 OpenTrace trace) const {
  if (trace.bytes > kMaxTraceBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("the trace has ", trace.bytes, " bytes, more than ", kMaxTraceBytes, ": take fewer steps"));
  }
  MutexLock lock(reading_);
  const auto is_over = [&] { return call.stop.stopped() || clock_.MonotonicNanos() >= call.deadline_ns; };
  const int64_t bytes = trace.bytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source,
                   ByteSource::FromStream(std::make_unique<TraceStream>(std::move(trace.fd), bytes, is_over)));
  const ProfileResult result = ReadKinetoProfile(name, *source, kLimits);
  if (call.stop.stopped()) return absl::CancelledError(kEnding);
  if (is_over()) return absl::DeadlineExceededError("the trace is too large to be read in time: take fewer steps");
  if (result.patterns.window_seconds <= 0) {
    return absl::DataLossError(absl::StrCat("the trace: ", result.status.message()));
  }
  wire::RankProfile profile;
  RankPatterns patterns = result.patterns;
  for (FunctionPattern& function : patterns.functions) {
    function.name = PrintableText(function.name, kMostFunctionNameBytes);
  }
  FillProfile(patterns, profile);
  profile.set_pid(call.process.pid);
  profile.set_process_start_ticks(call.process.start_ticks);
  profile.set_trace_bytes(static_cast<uint64_t>(bytes));
  if (!result.status.ok()) {
    profile.add_notes(absl::StrCat("the trace: ", PrintableText(result.status.message(), kMaxNoteBytes)));
  }
  return profile;
}

}  // namespace lockstep
