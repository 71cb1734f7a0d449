// Kineto traces as tests write them: events as text, and what the reader makes of a whole file. Pure; thread-safe.

#ifndef LOCKSTEP_FORMATS_TESTING_KINETO_TEXT_H_
#define LOCKSTEP_FORMATS_TESTING_KINETO_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "formats/evidence_builder.h"
#include "formats/kineto_reader.h"
#include "formats/read_result.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {

// JSON members by key; the values are JSON themselves. An empty one leaves the key out.
using Members = std::map<std::string, std::string>;

inline std::string ObjectOf(const Members& members) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : members) {
    if (!value.empty()) texts.push_back(absl::StrCat("\"", key, "\": ", value));
  }
  return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
}

inline const Members kGroup = {{"Process Group Name", "\"0\""}, {"Process Group Ranks", "\"[0, 1]\""}};

// A kernel from `micros` on. `arguments` and `members` replace or add.
inline std::string Kernel(int64_t micros, Members arguments = kGroup, Members members = {}) {
  arguments.insert({{"device", "3"},
                    {"stream", "7"},
                    {"correlation", absl::StrCat(micros)},
                    {"Collective name", "\"allreduce\""},
                    {"In msg nelems", "8"},
                    {"dtype", "\"Float\""}});
  members.insert({{"ph", "\"X\""},
                  {"cat", "\"kernel\""},
                  {"name", "\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)\""},
                  {"ts", absl::StrCat(micros)},
                  {"dur", "10"},
                  {"args", ObjectOf(arguments)}});
  return ObjectOf(members);
}

inline std::string Launch(int64_t micros, int64_t correlation, const std::string& category = "cuda_runtime") {
  return ObjectOf({{"cat", absl::StrCat("\"", category, "\"")},
                   {"name", "\"cudaLaunchKernelExC\""},
                   {"ts", absl::StrCat(micros)},
                   {"dur", "2"},
                   {"args", ObjectOf({{"correlation", absl::StrCat(correlation)}})}});
}

inline std::string TraceText(const std::vector<std::string>& events, Members members = {}) {
  std::string text = "{";
  members.insert({"distributedInfo", R"({"backend": "nccl", "rank": 0, "world_size": 2})"});
  for (const auto& [key, value] : members) {
    if (!value.empty()) absl::StrAppend(&text, "\"", key, "\": ", value, ",\n");
  }
  return absl::StrCat(text, "\"traceEvents\": [\n", absl::StrJoin(events, ",\n"), "\n]}");
}

struct Parsed {
  ReadResult result;
  JobInput job;
  const Trace& trace() const { return job.evidence.trace; }
};

inline Parsed Parse(const std::string& text, const std::string& path = "trace.json") {
  EvidenceBuilder builder;
  Parsed parsed;
  parsed.result = ReadKineto(path, *SourceOf(text), builder.Job("j"), builder);
  parsed.job = std::move(builder.Finish().at(0));
  return parsed;
}

inline Members With(Members members, const Members& changed) {
  for (const auto& [key, value] : changed) members[key] = value;
  return members;
}

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_TESTING_KINETO_TEXT_H_
