#include "eval/live/live_player.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "collector/convert/agent_commands.h"
#include "collector/convert/convert.h"
#include "collector/convert/report_split.h"
#include "eval/live/live_agents.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kEvaluateEveryNanos = 500 * kNanosPerMilli;  // ShardOptions::evaluate_every_ns

class Player {
 public:
  Player(const LiveJob& job, const DeliverySpec& delivery, uint64_t seed, LiveEngine& engine, const CpuTimer& cpu)
      : job_(job), engine_(engine), cpu_(cpu), agents_(job), delivery_(delivery, job.playback.hosts.size(), seed) {}

  LivePlay Play(const std::function<void(const LiveLook&)>& on_look) {
    for (int64_t now_ns = kEvaluateEveryNanos; now_ns <= job_.end_ns; now_ns += kEvaluateEveryNanos) {
      agents_.MakeUntil(now_ns, [this](MadeReport made) { delivery_.Send(std::move(made)); });
      for (ReportDelivery::Arrival& arrival : delivery_.TakeUntil(now_ns)) Receive(arrival);
      if (last_stamp_ns_ > 0) Evaluate(now_ns, on_look);
    }
    play_.seconds = static_cast<double>(job_.end_ns) / kNanosPerSecond;
    play_.pulled_bytes = agents_.pulled_bytes();
    play_.pulls = agents_.pulls();
    play_.forgotten_commands = agents_.forgotten_commands();
    play_.delivery = delivery_.counts();
    return play_;
  }

 private:
  // Later than all before, as the collector stamps.
  int64_t Stamp(int64_t true_ns) {
    last_stamp_ns_ = std::max(last_stamp_ns_ + 1, kLiveFirstWallNanos + true_ns);
    return last_stamp_ns_;
  }

  Places PlacesOf(const std::string& host) const {
    const std::map<std::string, Places>& known = job_.playback.evidence->places.of_host;
    const auto places = known.find(host);
    return places == known.end() ? Places() : places->second;
  }

  void Receive(ReportDelivery::Arrival& arrival) {
    for (const wire::CommandResult& result : arrival.report.command_results()) {
      play_.report_bytes -= result.ByteSizeLong();
    }
    play_.report_bytes += arrival.report.ByteSizeLong();
    const std::string& host = job_.playback.hosts[arrival.host].name;
    if (!play_.refused.ok()) return;
    auto inputs = SplitReport(host, arrival.host + 1, std::move(arrival.report));
    play_.refused = inputs.status();
    if (!inputs.ok()) return;
    CHECK(inputs->size() == 1);
    wire::CaptureInput& input = inputs->front();
    if (input.job() != job_.playback.job) return;  // a host without a recorded process belongs to no job
    input.set_received_wall_ns(Stamp(arrival.arrived_ns));
    ConvertLosses losses;
    const auto report = ToHostReport(input, losses);
    play_.refused = report.status();
    if (!report.ok()) return;
    for (const RankView& rank : report->ranks) {
      for (const CommunicatorView& communicator : rank.communicators) {
        play_.operations += communicator.operations.size();
      }
    }
    const int64_t begun_ns = cpu_();
    engine_.ObservePlaces(host, PlacesOf(host));
    engine_.Observe(*report);
    play_.engine_cpu_ns += cpu_() - begun_ns;
  }

  void Evaluate(int64_t now_ns, const std::function<void(const LiveLook&)>& on_look) {
    const int64_t begun_ns = cpu_();
    const JobEngine::Conclusion conclusion = engine_.Evaluate(Stamp(now_ns));
    play_.engine_cpu_ns += cpu_() - begun_ns;
    for (const PullRequest& request : conclusion.requests)
      agents_.Ask(request.host, ToCommand(job_.playback.job, request));
    for (const WatchRequest& request : conclusion.watches)
      agents_.Ask(request.host, ToCommand(job_.playback.job, request));
    ++play_.looks;
    const JobSummary summary = engine_.summary();
    on_look({now_ns, conclusion, summary, play_.operations});
  }

  const LiveJob& job_;
  LiveEngine& engine_;
  const CpuTimer& cpu_;
  LiveAgents agents_;
  ReportDelivery delivery_;
  int64_t last_stamp_ns_ = 0;
  LivePlay play_;
};

}  // namespace

LivePlay PlayJob(const LiveJob& job, const DeliverySpec& delivery, uint64_t seed, LiveEngine& engine,
                 const CpuTimer& cpu, const std::function<void(const LiveLook&)>& on_look) {
  return Player(job, delivery, seed, engine, cpu).Play(on_look);
}

}  // namespace lockstep
