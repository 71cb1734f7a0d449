// Writes the binary seeds of tests/fuzz/corpus: valid inputs of which the fuzzers start. To be run again when a format
// changes: bazel run //tests/fuzz:write_seeds -- DIRECTORY

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/recorder/ring_writer.h"
#include "agent/sources/kernel_log/log_position.h"
#include "agent/spool/segment_format.h"
#include "agent/stacks/testing/native_image.h"
#include "agent/stacks/testing/python_image.h"
#include "base/check.h"
#include "collector/store/chunk.h"
#include "collector/store/keys.h"
#include "collector/store/log_chunk.h"
#include "collector/store/rollup.h"
#include "collector/store/values.h"
#include "collector/testing/report_builder.h"
#include "detector/patterns/rank_patterns.h"
#include "eval/minder/lstm_vae.h"
#include "eval/minder/minder_model.h"
#include "formats/pattern_message.h"
#include "proto/admin.pb.h"
#include "proto/capture.pb.h"
#include "proto/incident.pb.h"
#include "proto/patterns.pb.h"
#include "proto/resume.pb.h"
#include "proto/stacks.pb.h"

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

// A rank that waits in a step of Python, and a thread that does in the kernel alone.
wire::StackDump SmallStacks() {
  wire::StackDump dump;
  dump.set_rank(3);
  dump.set_pid(12);
  dump.set_samples(10);
  dump.set_python("3.11");
  for (const char* name : {"<module> (train.py:1)", "step (train.py:9)", "futex"}) dump.add_names(name);
  wire::ThreadStacks& main = *dump.add_threads();
  main.set_tid(12);
  main.set_name("python3");
  main.set_state("S");
  main.set_main(true);
  wire::FoldedStack& python = *main.add_python();
  python.set_count(10);
  python.add_frames(0);
  python.add_frames(1);
  wire::ThreadStacks& other = *dump.add_threads();
  other.set_tid(13);
  other.set_state("S");
  other.add_kernel()->set_count(10);
  other.mutable_kernel(0)->add_frames(2);
  dump.add_left_out("the stack of the kernel is for root");
  return dump;
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
  Write(directory / "seen", EncodeSeen(kNow));
  Write(directory / "number_offset", EncodeNumberOffset(17));
  Write(directory / "pauses", EncodePauses({{kNow, kNow + 1}}));
  Write(directory / "alert_key", EncodeAlertKey({5, "webhook https://receiver.example.org/"}));
  Write(directory / "audit_key", EncodeAuditKey({AuditKind::kRefusal, 6}));
  wire::AuditRecord record;
  record.set_wall_ns(kNow);
  record.set_action("forget_host");
  record.set_of("node-1");
  Write(directory / "audit_record", EncodeAuditRecord(record));
  wire::MaintenanceWindow window;
  window.set_id(2);
  window.add_hosts("node-1");
  window.set_begin_wall_ns(kNow);
  window.set_end_wall_ns(kNow + 1);
  Write(directory / "maintenance_window", EncodeMaintenanceWindow(window));
  Write(directory / "stack_dump", EncodeStackDump(SmallStacks()));
  Write(directory / "incident_ids", EncodeIncidentIds(65));
  wire::IncidentEvent event;
  event.mutable_incident()->set_id(7);
  event.mutable_incident()->set_job("train");
  event.mutable_incident()->set_opened_wall_ns(kNow);
  Write(directory / "incident", EncodeIncident(event.incident()));
  Write(directory / "incident_event", EncodeIncidentEvent(event));
}

void WriteSpoolSeed(const std::filesystem::path& file) {
  Write(file, EncodeSegmentHeader({"node-1", "2c9c1f4e-2f0f-4a2b-8f6a-0d2c4b6a8e10", 7, 1, 0}) +
                  EncodeReport({1, 2, 3, "resume", SmallReport().SerializeAsString()}));
}

void WriteResumeSeeds(const std::filesystem::path& directory) {
  wire::RingPositions positions;
  positions.set_monotonic_ns(1'000);
  wire::RingPosition& ring = *positions.add_rings();
  ring.set_file("12-34-0.ring");
  ring.set_opened_at_ns(500);
  ring.set_pid(12);
  ring.set_process_start_ticks(34);
  ring.set_next_ticket(3);
  ring.add_pending_deltas(2);
  const std::string log = FormatLogPosition({"2c9c1f4e-2f0f-4a2b-8f6a-0d2c4b6a8e10", 4'711});
  Write(directory / "rings", positions.SerializeAsString());
  Write(directory / "kernel_log", log);
  wire::ResumePoint point;
  for (const auto& [source, position] : {std::pair("rings", positions.SerializeAsString()), {"kernel_log", log}}) {
    point.add_sources()->set_source(source);
    point.mutable_sources()->rbegin()->set_position(position);
  }
  Write(directory / "point", point.SerializeAsString());
}

void WriteFabricSeeds(const std::filesystem::path& folder) {
  struct Header {
    uint64_t body_bytes;
    char type[32];
  };
  const struct {
    Header header = {16, "ctxt"};
    int32_t device = 3;
    int32_t pid = 12345;
    int64_t job = 5000;
  } registration;
  const struct {
    Header header = {24, "req"};
    int32_t activities = 2;
    int32_t count = 2;
    int64_t job = 5000;
    int32_t pids[2] = {12345, 1};
  } poll;
  Write(folder / "registration", {reinterpret_cast<const char*>(&registration), sizeof(registration)});
  Write(folder / "poll", {reinterpret_cast<const char*>(&poll), sizeof(poll)});
}

// Of two ranks, the second of which waits for its data.
void WriteRankProfileSeeds(const std::filesystem::path& folder) {
  const auto answer = [](double loading, bool is_newer) {
    RankPatterns patterns;
    patterns.window_seconds = 1;
    patterns.steps = 5;
    patterns.functions = {
        {.kind = FunctionKind::kGpuCompute, .name = "gemm", .beta = 1 - loading, .calls_per_second = 10, .mu = 0.5},
        {.kind = FunctionKind::kAnnotation, .name = "DataLoader.__next__", .beta = loading, .mean_seconds = loading}};
    wire::RankProfile profile;
    FillProfile(patterns, profile);
    profile.set_pid(12);
    profile.add_notes("the trace was cut off");
    if (is_newer) profile.mutable_functions(0)->set_kind("of a newer agent");
    return profile.SerializeAsString();
  };
  for (const bool is_newer : {false, true}) {
    const std::string first = answer(0.01, is_newer);
    const std::string bytes = {static_cast<char>(first.size() & 0xff), static_cast<char>(first.size() >> 8)};
    Write(folder / (is_newer ? "newer_agent" : "slow_loader"), bytes + first + answer(0.4, false));
  }
}

// Two threads in functions of Python 3.11, with the runtime at the beginning and behind the file that exports it.
void WritePythonSeeds(const std::filesystem::path& folder) {
  constexpr uint64_t kBase = 0x1000;
  constexpr int kMinor = 11;
  const std::string version(1, static_cast<char>(kMinor - kOldestPython));
  for (const bool has_file : {false, true}) {
    const uint64_t runtime = kBase + (has_file ? 0x400 : 0);
    PythonImage image(kMinor,
                      {.runtime = runtime, .interpreter = runtime + 0x80, .first = runtime + 0x100, .step = 0xC0});
    if (has_file) PutElfFile(image.memory, kBase, "_PyRuntime", runtime);
    const uint64_t step = image.Frame(0, image.Code(image.Text("step"), "train.py", 40));
    image.Thread(11, image.Frame(step, image.Code(image.WideText(u"f\u00fcr"), "loader.py", 7)));
    image.Thread(12, step);
    Write(folder / (has_file ? "program" : "runtime"), version + image.memory.Flat(kBase));
  }
}

// A thread that waits, with and without a register that the kernel does not tell.
void WriteNativeSeeds(const std::filesystem::path& folder) {
  for (const bool with_frame_pointer : {false, true}) {
    const NativeImage image(with_frame_pointer);
    std::string bytes;
    for (const uint64_t address : {NativeImage::kPlace, NativeImage::kStack}) {
      for (const int shift : {0, 8}) bytes.push_back(static_cast<char>(address >> shift));
    }
    Write(folder / (with_frame_pointer ? "frame_pointer" : "stack_pointer"),
          bytes + image.memory.Flat(NativeImage::kBase));
  }
}

// The end of process 4711 by SIGKILL, as the kernel's process connector tells it.
void WriteConnectorSeed(const std::filesystem::path& file) {
  nlmsghdr header = {};
  cn_msg connector = {};
  proc_event event = {};
  header.nlmsg_type = NLMSG_DONE;
  header.nlmsg_len = NLMSG_LENGTH(sizeof(connector) + sizeof(event));
  connector.id = {CN_IDX_PROC, CN_VAL_PROC};
  connector.len = sizeof(event);
  event.what = proc_event::PROC_EVENT_EXIT;
  event.timestamp_ns = 1'000'000'000;
  event.event_data.exit.process_pid = event.event_data.exit.process_tgid = 4'711;
  event.event_data.exit.exit_code = 9;
  std::string message(NLMSG_HDRLEN, '\0');
  std::memcpy(message.data(), &header, sizeof(header));
  message.append(reinterpret_cast<const char*>(&connector), sizeof(connector));
  message.append(reinterpret_cast<const char*>(&event), sizeof(event));
  Write(file, message);
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
  lockstep::wire::StackDump stacks = lockstep::SmallStacks();
  lockstep::Write(corpus / "stack_dump_fuzzer/rank", stacks.SerializeAsString());
  stacks.set_host("node\x7f\xc2\x9b[2J");
  lockstep::Write(corpus / "stack_dump_fuzzer/controls", stacks.SerializeAsString());
  lockstep::WriteCaptureSeed(corpus / "capture_fuzzer/content");
  lockstep::WriteRingSeed(corpus / "ring_reader_fuzzer");
  lockstep::WriteSpoolSeed(corpus / "spool_segment_fuzzer/segment");
  lockstep::WriteResumeSeeds(corpus / "resume_point_fuzzer");
  lockstep::WriteFabricSeeds(corpus / "fabric_message_fuzzer");
  lockstep::WriteRankProfileSeeds(corpus / "rank_profile_fuzzer");
  lockstep::WritePythonSeeds(corpus / "python_reader_fuzzer");
  lockstep::WriteNativeSeeds(corpus / "native_reader_fuzzer");
  lockstep::WriteConnectorSeed(corpus / "exit_connector_fuzzer/killed");
  lockstep::WriteMinderSeed(corpus / "minder_model_fuzzer/one_metric");
  return 0;
}
