// How long an agent waits until a collector says that it has stored a report.
//
//   ack_latency HOST:PORT NAME     prints NAME_p50, NAME_p99 and NAME_max, milliseconds
//
// Streams report once per second, each at its own moment of it, as a fleet does; one job of all.

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/stop_signal.h"
#include "collector/testing/report_builder.h"
#include "proto/ingest.grpc.pb.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr int kStreams = 64;
constexpr int kRanksPerStream = 8;
constexpr uint64_t kWarmUpReports = 5;
constexpr uint64_t kReports = 30;  // of each stream, that are measured

wire::AgentMessage Report(int stream, uint64_t sequence) {
  TestRanks ranks;
  ranks.first_rank = stream * kRanksPerStream;
  ranks.ranks = kRanksPerStream;
  ranks.world_size = kStreams * kRanksPerStream;
  ranks.first_step = static_cast<int64_t>(sequence - 1) * ranks.steps + 1;
  return ToMessage(MakeTestReport(sequence, ranks));
}

// Until the collector has said that it stored `sequence`.
void AwaitAck(grpc::ClientReaderWriter<wire::AgentMessage, wire::CollectorMessage>& stream, uint64_t sequence) {
  wire::CollectorMessage answer;
  do {
    CHECK(stream.Read(&answer));
  } while (!answer.has_ack() || answer.ack().stored_sequence() < sequence);
}

// Appends the waits of one stream, nanoseconds.
void Measure(const std::string& address, int number, std::vector<int64_t>& waits_ns) {
  const auto stub = wire::Ingest::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Stream(&context);
  CHECK(stream->Write(MakeTestHello(absl::StrCat("node-", number), static_cast<uint64_t>(number) + 1)));
  StopSignal never;
  const Clock& clock = RealClock();
  const int64_t phase_ns = number * kNanosPerSecond / kStreams;
  const int64_t began_ns = clock.MonotonicNanos() + phase_ns;
  for (uint64_t sequence = 1; sequence <= kWarmUpReports + kReports; ++sequence) {
    const wire::AgentMessage report = Report(number, sequence);
    never.WaitFor(began_ns + static_cast<int64_t>(sequence) * kNanosPerSecond - clock.MonotonicNanos());
    const int64_t sent_ns = clock.MonotonicNanos();
    CHECK(stream->Write(report));
    AwaitAck(*stream, sequence);
    if (sequence > kWarmUpReports) waits_ns.push_back(clock.MonotonicNanos() - sent_ns);
  }
  context.TryCancel();
}

void Run(const std::string& address, const std::string& name) {
  std::vector<std::vector<int64_t>> waits_ns(kStreams);
  std::vector<std::thread> threads;
  for (int stream = 0; stream < kStreams; ++stream) {
    threads.emplace_back([&, stream] { Measure(address, stream, waits_ns[static_cast<size_t>(stream)]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all_ns;
  for (const std::vector<int64_t>& of_stream : waits_ns)
    all_ns.insert(all_ns.end(), of_stream.begin(), of_stream.end());
  std::sort(all_ns.begin(), all_ns.end());
  const std::pair<const char*, double> quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1.0}};
  for (const auto& [quantile, share] : quantiles) {
    const auto place = static_cast<size_t>(share * static_cast<double>(all_ns.size() - 1));
    PrintMeasurement(absl::StrCat(name, "_", quantile), static_cast<double>(all_ns[place]) / kNanosPerMilli, "ms");
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("usage: ack_latency HOST:PORT NAME\n", stderr);
    return 2;
  }
  lockstep::Run(argv[1], argv[2]);
  return 0;
}
