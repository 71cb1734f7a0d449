#include "agent/kineto/dynolog_message.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/printable_text.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr size_t kMaxStatusBytes = 200;

bool Names(const json& answer, const char* list, int32_t pid) {
  const auto found = answer.find(list);
  return found != answer.end() && found->is_array() &&
         std::find(found->begin(), found->end(), json(pid)) != found->end();
}

bool IsEmptyList(const json& answer, const char* list) {
  const auto found = answer.find(list);
  return found != answer.end() && found->is_array() && found->empty();
}

}  // namespace

std::string DynologQuestion(const DynologProcess& process, const std::string& order) {
  const json question = {{"fn", "setKinetOnDemandRequest"},
                         {"config", order},
                         {"job_id", process.job},
                         {"pids", json::array({process.pid})},
                         {"process_limit", 1}};
  const std::string text = question.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto length = static_cast<int32_t>(text.size());
  std::string message(kDynologLengthBytes, '\0');
  std::memcpy(message.data(), &length, sizeof(length));
  return message + text;
}

absl::Status ReadDynologAnswer(const DynologProcess& process, absl::string_view text) {
  const json answer = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return absl::DataLossError("what listens at dynolog's port does not answer as dynolog does");
  if (const auto status = answer.find("status"); status != answer.end() && status->is_string()) {
    return absl::FailedPreconditionError(
        absl::StrCat("dynolog refuses: ", PrintableText(status->get_ref<const std::string&>(), kMaxStatusBytes)));
  }
  if (Names(answer, "activityProfilersTriggered", process.pid)) return absl::OkStatus();
  if (Names(answer, "processesMatched", process.pid)) {
    return absl::AlreadyExistsError("the process has an order from dynolog already, which it has not asked for yet");
  }
  if (IsEmptyList(answer, "processesMatched")) {
    return absl::FailedPreconditionError(
        "the process has not registered with the dynolog of its machine: start it with KINETO_USE_DAEMON=1 (PyTorch "
        "with Kineto)");
  }
  if (answer.contains("processesMatched")) {
    return absl::FailedPreconditionError("dynolog knows children of the process and not the process itself");
  }
  return absl::DataLossError("what listens at dynolog's port does not answer as dynolog does");
}

int64_t SlurmJobOf(absl::string_view environment) {
  for (absl::string_view variable : absl::StrSplit(environment, '\0')) {
    int64_t job = 0;
    if (!absl::ConsumePrefix(&variable, "SLURM_JOB_ID=")) continue;
    return absl::SimpleAtoi(variable, &job) && job > 0 ? job : 0;
  }
  return 0;
}

}  // namespace lockstep
