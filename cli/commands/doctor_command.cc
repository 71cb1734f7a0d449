#include "cli/commands/doctor_command.h"

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/doctor/diagnosis.h"
#include "cli/doctor/recorded_process.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string AbiText(const RingFacts& ring) { return ring.abi_version == 0 ? "-" : absl::StrCat("v", ring.abi_version); }

std::string OverheadText(double ratio) { return ratio < 0 ? "-" : absl::StrFormat("%.3f %%", 100 * ratio); }

nlohmann::ordered_json RingJson(const RingFacts& ring, double overhead) {
  nlohmann::ordered_json timing = nlohmann::ordered_json::object();
  for (size_t i = 0; i < kTimingQualities; ++i) {
    if (ring.timing[i] > 0) timing[std::string(NameOfTiming(i))] = ring.timing[i];
  }
  return {{"path", ring.path},
          {"refused", ring.refused},
          {"recorder", std::string(NameOf(ring.kind))},
          {"recorder_version", ring.recorder_version},
          {"state", std::string(NameOf(ring.state))},
          {"library_version", ring.library_version},
          {"abi_version", ring.abi_version},
          {"job", ring.job},
          {"rank", ring.rank},
          {"world_size", ring.world_size},
          {"active_mask", ring.active_mask},
          {"communicators", ring.communicators},
          {"operations_enqueued", ring.counters.enqueued},
          {"operations_finished", ring.counters.finished},
          {"operations_in_flight", ring.in_flight},
          {"operations_lost", ring.counters.lost},
          {"communicators_dropped", ring.counters.communicators_dropped},
          {"events_ignored", ring.counters.events_ignored},
          {"overhead_ratio", overhead < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(overhead)},
          {"callbacks", ring.nccl.callbacks},
          {"callback_ns", ring.nccl.callback_ns},
          {"governor_level", ring.nccl.governor_level},
          {"gpu_clock_error_ns", ring.nccl.gpu_clock_error_ns},
          {"chain_state", ring.nccl.chain_state},
          {"foreign_masks", ring.nccl.foreign_masks},
          {"timing", std::move(timing)}};
}

nlohmann::ordered_json ProcessJson(const RecordedProcess& process, const RecordingDiagnosis& diagnosis,
                                   int64_t now_ns) {
  nlohmann::ordered_json json = {{"pid", process.pid},
                                 {"command", process.command},
                                 {"recorded", diagnosis.is_recorded},
                                 {"cause", diagnosis.cause},
                                 {"text", diagnosis.text},
                                 {"nccl", process.libraries.nccl},
                                 {"mpi", process.libraries.mpi},
                                 {"ring", nullptr}};
  if (diagnosis.ring != nullptr) json["ring"] = RingJson(*diagnosis.ring, OverheadRatio(*diagnosis.ring, now_ns));
  return json;
}

std::vector<std::string> Row(const RecordedProcess& process, const RecordingDiagnosis& diagnosis, int64_t now_ns) {
  std::vector<std::string> cells = {absl::StrCat(process.pid), process.command, diagnosis.is_recorded ? "yes" : "NO"};
  if (diagnosis.ring == nullptr || !diagnosis.ring->refused.empty()) {
    cells.insert(cells.end(), 7, "-");
  } else {
    const RingFacts& ring = *diagnosis.ring;
    for (const absl::string_view cell : {NameOf(ring.kind), NameOf(UsualTiming(ring))}) cells.emplace_back(cell);
    cells.push_back(AbiText(ring));
    cells.push_back(absl::StrFormat("0x%x", ring.active_mask));
    cells.push_back(absl::StrCat(ring.counters.enqueued));
    cells.push_back(absl::StrCat(ring.counters.lost));
    cells.push_back(OverheadText(OverheadRatio(ring, now_ns)));
  }
  cells.push_back(diagnosis.text);
  return cells;
}

class DoctorCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"--pid", "only this process", &pid_},
            {"--all", "every process that communicates through NCCL or MPI (the default)", &all_},
            {"--root", "where /proc of the machine is", &root_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (pid_ > std::numeric_limits<int32_t>::max()) return absl::InvalidArgumentError("--pid: no such number");
    if (pid_ > 0 && all_) return absl::InvalidArgumentError("--pid and --all exclude each other");
    std::vector<RecordedProcess> processes;
    if (pid_ > 0) {
      absl::StatusOr<RecordedProcess> process = LookAt(root_, static_cast<int32_t>(pid_));
      if (!process.ok()) return Explained(process.status());
      processes.push_back(*std::move(process));
    } else {
      RETURN_IF_ERROR(LookAtAll(processes));
    }
    return Show(processes, context);
  }

 private:
  absl::Status Explained(const absl::Status& status) const {
    if (absl::IsNotFound(status)) return absl::NotFoundError(absl::StrCat("there is no process ", pid_));
    if (!absl::IsPermissionDenied(status)) return absl::FailedPreconditionError(status.message());
    return absl::FailedPreconditionError(absl::StrCat("process ", pid_, " belongs to somebody else (try as root)"));
  }

  absl::Status LookAtAll(std::vector<RecordedProcess>& processes) {
    ASSIGN_OR_RETURN(const std::vector<int32_t> pids, AllProcesses(root_));
    for (const int32_t pid : pids) {
      absl::StatusOr<RecordedProcess> process = LookAt(root_, pid);
      if (!process.ok()) {
        // One that has ended meanwhile is no loss; one that may not be looked at is said.
        if (!absl::IsNotFound(process.status())) ++hidden_;
        continue;
      }
      if (process->libraries.communicates() || process->libraries.has_recorder()) {
        processes.push_back(*std::move(process));
      }
    }
    return absl::OkStatus();
  }

  ExitCode Show(const std::vector<RecordedProcess>& processes, CommandContext& context) const {
    TextTable table({{"PID", kRight},
                     {"COMMAND"},
                     {"RECORDED"},
                     {"BY"},
                     {"TIMING"},
                     {"ABI"},
                     {"MASK", kRight},
                     {"OPERATIONS", kRight},
                     {"LOST", kRight},
                     {"OVERHEAD", kRight},
                     {"WHY NOT"}});
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    bool all_recorded = true;
    const int64_t now_ns = context.clock.MonotonicNanos();
    for (const RecordedProcess& process : processes) {
      const RecordingDiagnosis diagnosis = Diagnose(process);
      all_recorded = all_recorded && diagnosis.is_recorded;
      table.AddRow(Row(process, diagnosis, now_ns));
      json.push_back(ProcessJson(process, diagnosis, now_ns));
    }
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText({{"processes", std::move(json)}, {"not_permitted", hidden_}}, /*indented=*/true) << "\n";
    } else {
      context.out << (table.empty() ? "no process communicates through NCCL or MPI\n" : table.Render(context.width));
      if (hidden_ > 0) {
        context.out << hidden_ << (hidden_ == 1 ? " process" : " processes") << " could not be looked at"
                    << (geteuid() == 0 ? "\n" : " (try as root)\n");
      }
    }
    return all_recorded ? ExitCode::kOk : ExitCode::kFindings;
  }

  uint64_t pid_ = 0;
  bool all_ = false;
  std::string root_ = "/";
  int hidden_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace lockstep
