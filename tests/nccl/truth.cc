#include "tests/nccl/truth.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <tuple>

namespace lockstep::nccl {
namespace {

// The fields of a line in order, for both directions.
template <typename Operation>
auto Fields(Operation& o) {
  return std::tie(o.communicator, o.rank, o.function, o.bytes, o.ranks, o.datatype_bytes, o.peer, o.root, o.channels,
                  o.is_copy_engine, o.is_symmetric, o.was_delivered, o.has_kernel_events, o.has_gpu_times,
                  o.launch_begin_ns, o.launched_ns, o.began_ns, o.began_seen_ns, o.ended_ns, o.ended_seen_ns,
                  o.channels_begun, o.channels_ended);
}
template <typename Waits>
auto WaitFields(Waits& w) {
  return std::tie(w.communicator, w.rank, w.peer, w.is_send, w.waits.steps, w.waits.bytes, w.waits.least_ns[0],
                  w.waits.least_ns[1], w.waits.least_ns[2], w.waits.most_ns[0], w.waits.most_ns[1], w.waits.most_ns[2]);
}
template <typename T>
auto HeadFields(T& t) {
  return std::tie(t.version, t.release, t.accepted_ranks, t.mask, t.violations);
}

template <typename Tuple>
void Write(std::ostream& out, const char* word, const Tuple& fields) {
  out << word;
  std::apply([&](const auto&... field) { ((out << ' ' << field), ...); }, fields);
  out << '\n';
}
template <typename Tuple>
void Read(std::istream& in, Tuple fields) {
  std::apply([&](auto&... field) { (in >> ... >> field); }, fields);
}

}  // namespace

void AddRank(PlayedRank& rank, const RankScript& script, Truth& truth) {
  const Communicator& communicator = rank.communicator();
  for (const PlayedOperation& played : script.operations()) {
    const Operation& operation = played.operation;
    const bool has_kernel_events = rank.caller().version() >= 3 && !operation.is_copy_engine &&
                                   rank.Wants(played, kKernelCh | kKernelPhase) && played.task_handle != nullptr;
    truth.operations.push_back({.communicator = communicator.id,
                                .rank = communicator.rank,
                                .function = operation.function->name,
                                .bytes = operation.count * operation.datatype->size_bytes,
                                .ranks = communicator.ranks,
                                .datatype_bytes = operation.datatype->size_bytes,
                                .peer = operation.peer,
                                .root = operation.root,
                                .channels = operation.channels,
                                .is_copy_engine = operation.is_copy_engine,
                                .is_symmetric = operation.is_symmetric,
                                .was_delivered = played.was_delivered,
                                .has_kernel_events = has_kernel_events,
                                .has_gpu_times = played.has_gpu_times && rank.caller().version() >= 4,
                                .launch_begin_ns = played.launch_begin_ns,
                                .launched_ns = played.launched_ns,
                                .began_ns = played.began_ns,
                                .began_seen_ns = played.began_seen_ns,
                                .ended_ns = played.ended_ns,
                                .ended_seen_ns = played.ended_seen_ns,
                                .channels_begun = played.channels_begun,
                                .channels_ended = played.channels_ended});
  }
  for (const auto& [key, waits] : script.waits()) {
    truth.waits.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), waits});
  }
}

bool WriteTruth(const Truth& truth, const std::string& path) {
  const std::string unfinished = path + ".part";
  std::ofstream out(unfinished);
  Write(out, "driver", HeadFields(truth));
  for (const TrueOperation& operation : truth.operations) Write(out, "operation", Fields(operation));
  for (const uint32_t mask : truth.masks) Write(out, "mask", std::tie(mask));
  for (const TrueWaits& waits : truth.waits) Write(out, "waits", WaitFields(waits));
  out.close();
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  return out.good() && !error;
}

bool ReadTruth(const std::string& path, Truth* truth) {
  *truth = {};
  std::ifstream in(path);
  bool has_head = false;
  for (std::string word; in >> word;) {
    if (word == "driver") {
      Read(in, HeadFields(*truth));
      has_head = true;
    } else if (word == "operation") {
      Read(in, Fields(truth->operations.emplace_back()));
    } else if (word == "mask") {
      Read(in, std::tie(truth->masks.emplace_back()));
    } else if (word == "waits") {
      Read(in, WaitFields(truth->waits.emplace_back()));
    } else {
      return false;
    }
    if (in.fail()) return false;
  }
  return has_head;
}

}  // namespace lockstep::nccl
