// Writes the binary seeds of tests/fuzz/corpus: valid inputs of which the fuzzers start. To be run again when a format
// changes: bazel run //tests/fuzz:write_seeds -- DIRECTORY

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/recorder/ring_writer.h"
#include "base/check.h"
#include "collector/store/chunk.h"
#include "collector/store/keys.h"
#include "collector/store/log_chunk.h"
#include "collector/store/rollup.h"
#include "collector/store/values.h"
#include "collector/testing/report_builder.h"
#include "eval/minder/lstm_vae.h"
#include "eval/minder/minder_model.h"
#include "proto/capture.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000;

void Write(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << bytes;
  stream.close();
  CHECK(!stream.fail());
}

wire::AgentReport SmallReport() {
  TestRanks ranks;
  ranks.steps = 3;
  return MakeTestReport(1, ranks);
}

std::vector<wire::CaptureEntry> SmallLog() {
  std::vector<wire::CaptureEntry> log(3);
  log[0].mutable_reset()->set_job("train");
  log[0].mutable_reset()->set_wall_ns(kNow);
  log[1].mutable_input()->set_job("train");
  log[1].mutable_input()->set_host("node-1");
  log[1].mutable_input()->set_received_wall_ns(kNow + 1);
  *log[1].mutable_input()->mutable_report() = SmallReport();
  log[2].mutable_watermark()->set_job("train");
  log[2].mutable_watermark()->set_wall_ns(kNow + 2);
  return log;
}

void WriteStorageSeeds(const std::filesystem::path& directory) {
  const std::vector<Point> points = {{kNow, 1.5}, {kNow + 1'000'000'000, 1.5}, {kNow + 2'000'000'000, -3}};
  LogChunkBuilder builder;
  for (const wire::CaptureEntry& entry : SmallLog()) CHECK(builder.Add(entry));
  Write(directory / "log_chunk", builder.Seal());
  Write(directory / "chunk", EncodeChunk(points));
  Write(directory / "rollup", EncodeRollup(RollUp(points)));
  Write(directory / "timed_key", EncodeTimedKey({1, kNow, 2}));
  Write(directory / "series_labels", EncodeSeriesLabels({Metric::kHostLoad1, "node-1", "eth0"}));
  Write(directory / "mark", EncodeMark({3, kNow}));
}

void WriteCaptureSeed(const std::filesystem::path& file) {
  std::string content;
  for (const wire::CaptureEntry& entry : SmallLog()) {
    const std::string payload = entry.SerializeAsString();
    size_t length = payload.size();
    for (; length >= 0x80; length >>= 7) content.push_back(static_cast<char>(length | 0x80));
    content.push_back(static_cast<char>(length));
    content += payload;
  }
  Write(file, content);
}

void WriteRingSeed(const std::filesystem::path& directory) {
  static ring::RingWriter writer;
  std::filesystem::create_directories(directory);
  const std::string text = directory.string();
  ring::RingOptions options;
  options.directory = text.c_str();
  options.kind = ring::RecorderKind::kMpi;
  options.operation_capacity = 16;
  options.communicator_capacity = 4;
  options.rank = 1;
  options.world_size = 2;
  options.job = "job";
  CHECK(writer.Open(options));
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 2, .rank = 1, .name = "world"}, 100);
  const ring::OperationDescription operation = {
      .kind = ring::OperationKind::kAllReduce, .communicator = world, .bytes = 8};
  writer.Finish(writer.Begin(operation, 200), {}, 205);
  writer.Begin(operation, 300);
  // The recorder puts the process into the name.
  std::filesystem::path made;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".ring") made = entry.path();
  }
  std::filesystem::rename(made, directory / "ring");
}

void WriteMinderSeed(const std::filesystem::path& file) {
  MinderModel model;
  model.metrics.push_back({"m", 0.5, {.parameters = std::vector<float>(LstmVaeLayout(1).size, 0.25F)}});
  model.integrated = model.metrics[0].network;
  Write(file, EncodeMinderModel(model));
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const std::filesystem::path corpus(argv[1]);
  lockstep::Write(corpus / "convert_fuzzer/report", lockstep::ToMessage(lockstep::SmallReport()).SerializeAsString());
  lockstep::WriteStorageSeeds(corpus / "storage_fuzzer");
  lockstep::WriteCaptureSeed(corpus / "capture_fuzzer/content");
  lockstep::WriteRingSeed(corpus / "ring_reader_fuzzer");
  lockstep::WriteMinderSeed(corpus / "minder_model_fuzzer/one_metric");
  return 0;
}
