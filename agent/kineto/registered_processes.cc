#include "agent/kineto/registered_processes.h"

#include <algorithm>

namespace lockstep {

FabricRefusal RegisteredProcesses::Hear(const FabricMessage& message, const FabricSender& sender, int64_t now_ns) {
  const ProcessId id = {sender.pid, sender.start_ticks};
  auto known = processes_.find(id);
  if (known == processes_.end()) {
    const auto user = of_user_.find(sender.uid);
    if (user != of_user_.end() && user->second >= kMaxProcessesPerUser) return FabricRefusal::kTooManyOfUser;
    if (processes_.size() >= kMaxProcesses) return FabricRefusal::kTooMany;
    known = processes_.emplace(id, Process{sender.uid, message.job, message.device, now_ns}).first;
    ++of_user_[sender.uid];
  }
  Process& process = known->second;
  process.heard_ns = now_ns;
  process.job = message.job;
  if (message.kind == FabricMessage::Kind::kRegistration) process.device = message.device;
  return FabricRefusal::kNone;
}

int32_t RegisteredProcesses::CountOf(int64_t job, int32_t device) const {
  return static_cast<int32_t>(std::count_if(processes_.begin(), processes_.end(), [&](const auto& process) {
    return process.second.job == job && process.second.device == device;
  }));
}

void RegisteredProcesses::Forget(int64_t now_ns) {
  for (auto process = processes_.begin(); process != processes_.end();) {
    if (now_ns - process->second.heard_ns < kForgetNanos) {
      ++process;
      continue;
    }
    const auto user = of_user_.find(process->second.uid);
    if (--user->second == 0) of_user_.erase(user);
    process = processes_.erase(process);
  }
}

}  // namespace lockstep
