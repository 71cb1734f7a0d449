#include "collector/convert/report_split.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "collector/convert/report_limits.h"

namespace lockstep {
namespace {

wire::CaptureInput MakeInput(const std::string& host, uint64_t incarnation, const std::string& job) {
  wire::CaptureInput input;
  input.set_job(job);
  input.set_host(host);
  input.set_incarnation(incarnation);
  return input;
}

bool HasOneJob(const wire::AgentReport& report) {
  for (const wire::ProcessReport& process : report.processes()) {
    if (process.job() != report.processes(0).job()) return false;
  }
  return true;
}

// Whether a process of the report is a member of a communicator that RAS names.
bool IsAboutItsJob(const wire::AgentReport& report) {
  absl::flat_hash_set<uint64_t> named;
  for (const wire::NcclRasCommunicator& finding : report.nccl_ras().findings()) named.insert(finding.id());
  for (const wire::ProcessReport& process : report.processes()) {
    for (const wire::CommunicatorReport& communicator : process.communicators()) {
      if (named.contains(communicator.id())) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<wire::CaptureInput>> SplitReport(const std::string& host, uint64_t incarnation,
                                                            wire::AgentReport report) {
  std::vector<wire::CaptureInput> inputs;
  if (HasOneJob(report)) {
    inputs.push_back(MakeInput(host, incarnation, report.processes_size() > 0 ? report.processes(0).job() : ""));
    *inputs.back().mutable_report() = std::move(report);
    return inputs;
  }
  google::protobuf::RepeatedPtrField<wire::ProcessReport> processes;
  processes.Swap(report.mutable_processes());
  google::protobuf::RepeatedPtrField<wire::CommandResult> results;
  results.Swap(report.mutable_command_results());
  absl::flat_hash_map<std::string, size_t> index_of_job;
  for (wire::ProcessReport& process : processes) {
    const auto [position, is_new] = index_of_job.try_emplace(process.job(), inputs.size());
    if (is_new) {
      if (inputs.size() >= kMaxJobsPerReport) {
        return absl::InvalidArgumentError(absl::StrCat("processes: more than ", kMaxJobsPerReport, " jobs"));
      }
      inputs.push_back(MakeInput(host, incarnation, process.job()));
      *inputs.back().mutable_report() = report;
    }
    *inputs[position->second].mutable_report()->add_processes() = std::move(process);
  }
  for (wire::CaptureInput& input : inputs) {
    if (!IsAboutItsJob(input.report())) input.mutable_report()->clear_nccl_ras();
  }
  for (wire::CommandResult& result : results) {
    const auto position = index_of_job.find(result.job());
    if (position == index_of_job.end()) continue;  // the job has ended: nobody waits for it
    *inputs[position->second].mutable_report()->add_command_results() = std::move(result);
  }
  return inputs;
}

}  // namespace lockstep
