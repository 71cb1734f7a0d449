#include "cli/inputs/stand_ins.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict/verdict.h"
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

void ForgetIn(std::vector<Culprit>& culprits) {
  for (Culprit& culprit : culprits) {
    if (IsStandInHost(culprit.host)) culprit.host.clear();
    if (IsStandInHost(culprit.peer_host)) culprit.peer_host.clear();
  }
}

}  // namespace

void ForgetStandIns(JobReport& report, const Trace& trace) {
  const auto stand_ins = std::count_if(trace.hosts.begin(), trace.hosts.end(),
                                       [](const std::string& host) { return IsStandInHost(host); });
  report.hosts = std::max(0, report.hosts - static_cast<int32_t>(stand_ins));
  for (Verdict& verdict : report.verdicts) ForgetIn(verdict.culprits);
  for (Remedy& remedy : report.remedies) ForgetIn(remedy.culprits);
}

}  // namespace lockstep
