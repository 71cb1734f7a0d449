#include "agent/sources/ras/testing/ras_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

std::string Quoted(const char* key, const std::string& value) { return absl::StrCat("\"", key, "\": \"", value, "\""); }

std::string Place(const RasTextMember& member) {
  return absl::StrCat("\"rank\": ", member.rank, ",\n ", Quoted("host", member.host), ",\n \"pid\": ", member.pid,
                      ",\n \"cuda_dev\": 0,\n \"nvml_dev\": 0");
}

std::string Member(const RasTextMember& member) {
  return absl::StrFormat(
      "{%s,\n \"status\": {\"init_state\": 0, \"async_error\": %d, \"finalize_called\": false,"
      " \"destroy_flag\": false, \"abort_flag\": %s},\n \"collective_counts\": {\"Broadcast\": 3, \"Reduce\": 0,"
      " \"AllGather\": 0, \"ReduceScatter\": 0, \"AllReduce\": %u}}",
      Place(member), member.async_error, member.aborted ? "true" : "false", member.all_reduces);
}

std::string Missing(const RasTextMember& member, RasTextStyle style) {
  return absl::StrFormat("{%s%s\n \"status\": {\"unresponsive\": %s, \"considered_dead\": %s}}", Place(member),
                         style == RasTextStyle::kSound ? "," : "", member.dead ? "false" : "true",
                         member.dead ? "true" : "false");
}

}  // namespace

std::string RasText(const std::vector<RasTextCommunicator>& communicators, RasTextStyle style) {
  std::vector<std::string> parts;
  for (const RasTextCommunicator& communicator : communicators) {
    std::vector<std::string> members;
    std::vector<std::string> missing;
    for (const RasTextMember& member : communicator.members) members.push_back(Member(member));
    for (const RasTextMember& member : communicator.missing) missing.push_back(Missing(member, style));
    parts.push_back(
        absl::StrFormat("{\"hash\": \"0x%x\", \"secondary_hash\": \"0x1:0x2\", \"size\": %d,"
                        " \"ranks_count\": %d, \"missing_ranks_count\": %d, \"ranks\": [%s],"
                        " \"missing_ranks\": [%s]}",
                        communicator.id, members.size() + missing.size(), members.size(), missing.size(),
                        absl::StrJoin(members, ",\n"), absl::StrJoin(missing, ",\n")));
  }
  return absl::StrFormat(
      "{\n \"nccl_version\": \"2.29.2\",\n \"cuda_runtime_version\": 13000,\n"
      " \"communicators_count\": %d,\n \"communicators\": [%s],\n"
      " \"ras\": {\"collection_time_sec\": 0.250, \"timeouts_count\": 1}\n}\n",
      parts.size(), absl::StrJoin(parts, ",\n"));
}

}  // namespace lockstep
