#include "agent/kineto/testing/fake_dynolog.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr int32_t kMaxQuestionBytes = 1 << 16;

// Exactly so many bytes; "" = he has hung up.
std::string Receive(int connection, size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = recv(connection, bytes.data(), size, MSG_WAITALL);
  return got == static_cast<ssize_t>(size) ? bytes : "";
}

}  // namespace

FakeDynolog::FakeDynolog(Misbehave misbehave)
    : misbehave_(std::move(misbehave)), server_([this](int connection, int /*stop*/) { Serve(connection); }) {}

void FakeDynolog::Serve(int connection) {
  int32_t length = 0;
  const std::string head = Receive(connection, sizeof(length));
  if (head.empty()) return;
  std::memcpy(&length, head.data(), sizeof(length));
  if (length <= 0 || length > kMaxQuestionBytes) return;
  const std::string question = Receive(connection, static_cast<size_t>(length));
  {
    MutexLock lock(mutex_);
    questions_.push_back(question);
  }
  if (misbehave_) return misbehave_(connection);
  const std::string answer = AnswerTo(question);
  if (!answer.empty()) Send(connection, Framed(answer));
}

std::string FakeDynolog::AnswerTo(const std::string& question) {
  const json asked = json::parse(question, nullptr, /*allow_exceptions=*/false);
  if (!asked.is_object() || asked.value("fn", "") != "setKinetOnDemandRequest") return "";
  if (!asked.contains("config") || !asked.contains("pids")) return json{{"status", "failed"}}.dump();
  const auto pids = asked["pids"].get<std::vector<int32_t>>();
  json answer = {{"processesMatched", json::array()},
                 {"eventProfilersTriggered", json::array()},
                 {"activityProfilersTriggered", json::array()},
                 {"eventProfilersBusy", 0},
                 {"activityProfilersBusy", 0}};
  int busy = 0;
  MutexLock lock(mutex_);
  for (Process& process : processes_) {
    const bool matches =
        process.job == asked.value("job_id", int64_t{0}) &&
        std::find_first_of(process.pids.begin(), process.pids.end(), pids.begin(), pids.end()) != process.pids.end();
    if (!matches) continue;
    answer["processesMatched"].push_back(process.pids.front());
    if (answer["activityProfilersTriggered"].size() >= asked.value("process_limit", size_t{1'000})) continue;
    if (process.order.empty()) {
      process.order = asked["config"].get<std::string>();
      answer["activityProfilersTriggered"].push_back(process.pids.front());
    } else {
      answer["activityProfilersBusy"] = ++busy;
    }
  }
  return answer.dump();
}

void FakeDynolog::Register(int64_t job, std::vector<int32_t> pids) {
  MutexLock lock(mutex_);
  processes_.push_back({job, std::move(pids), ""});
}

std::string FakeDynolog::TakeOrder(int32_t pid) {
  MutexLock lock(mutex_);
  for (Process& process : processes_) {
    if (process.pids.front() == pid) return std::exchange(process.order, "");
  }
  return "";
}

std::vector<std::string> FakeDynolog::questions() const {
  MutexLock lock(mutex_);
  return questions_;
}

void FakeDynolog::Send(int connection, const std::string& bytes) {
  CHECK(send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

std::string FakeDynolog::Framed(const std::string& text) {
  const auto length = static_cast<int32_t>(text.size());
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + text;
}

}  // namespace lockstep
