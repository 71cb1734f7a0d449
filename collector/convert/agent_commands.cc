#include "collector/convert/agent_commands.h"

namespace lockstep {

wire::Command ToCommand(const std::string& job, const PullRequest& request) {
  wire::Command command;
  command.set_id(request.id);
  command.set_job(job);
  wire::PullOperations& pull = *command.mutable_pull_operations();
  pull.set_newest_ns(request.newest_ns);
  pull.set_max_bytes(request.max_bytes);
  pull.set_may_pack(true);
  pull.mutable_ranks()->Add(request.ranks.begin(), request.ranks.end());
  pull.mutable_communicators()->Add(request.communicators.begin(), request.communicators.end());
  return command;
}

wire::Command ToCommand(const std::string& job, const WatchRequest& request) {
  wire::Command command;
  command.set_id(request.id);
  command.set_job(job);
  command.mutable_watch_transfers()->set_duration_ns(request.duration_ns);
  return command;
}

}  // namespace lockstep
