// How fast the readers are, on texts that are made here: lines of CSV in memory and events of a Kineto trace, of which
// one in a hundred is an NCCL kernel and one in five a kernel launch. Bytes are those of the text.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/kineto_profile.h"
#include "formats/kineto_reader.h"
#include "formats/metrics_csv_reader.h"
#include "formats/ops_csv_reader.h"
#include "formats/read_result.h"
#include "tests/bench/json_reporter.h"

namespace lockstep {
namespace {

constexpr int kRows = 200'000;

std::string OpsCsv() {
  std::string text = "job,host,gpu,rank,comm,comm_rank,comm_size,seq,op,peer,bytes,enqueue_ns,start_ns,end_ns\n";
  for (int i = 0; i < kRows; ++i) {
    const int rank = i % 64;
    const int64_t start_ns = int64_t{i} * 10'000;
    absl::StrAppend(&text, "job-1,node-", rank / 8, ",", rank % 8, ",", rank, ",dp-", rank % 8, ",", rank / 8, ",8,",
                    i / 64, ",AllReduce,-1,1048576,", start_ns, ",", start_ns + 2000, ",", start_ns + 90'000, "\n");
  }
  return text;
}

std::string MetricsCsv() {
  std::string text = "time_ms,job,host,device,metric,value\n";
  for (int i = 0; i < kRows; ++i) {
    absl::StrAppend(&text, i / 64 * 1000, ",job-1,node-", i % 8, ",gpu", i / 8 % 8, ",gpu_power_watts,", 600 + i % 97,
                    ".5\n");
  }
  return text;
}

std::string Kineto() {
  std::string text = R"({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [)";
  for (int i = 0; i < kRows; ++i) {
    absl::StrAppend(&text, i > 0 ? ",\n" : "", R"({"ph": "X", "pid": 0, "tid": 7, "ts": )", i, ".125, \"dur\": 10.5, ");
    if (i % 100 == 0) {
      absl::StrAppend(&text, R"("cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "args": {)",
                      R"("device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "0", )",
                      R"("Process Group Ranks": "[0, 1]", "In msg nelems": 8, "dtype": "Float", "correlation": )", i,
                      "}}");
    } else if (i % 5 == 0) {
      absl::StrAppend(&text, R"("cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"External id": )", i,
                      R"(, "cbid": 211, "correlation": )", i, "}}");
    } else {
      absl::StrAppend(&text, R"("cat": "cpu_op", "name": "aten::add_", "args": {"External id": )", i,
                      R"(, "Sequence number": 12, "Fwd thread id": 0, "Input Dims": [[1024, 4096], [], []], )",
                      R"("Input type": ["float", "float", "Scalar"]}})");
    }
  }
  return text + "]}";
}

template <typename ReadFunction>
void ReadRepeatedly(benchmark::State& state, const std::string& text, ReadFunction read) {
  for (auto _ : state) {
    EvidenceBuilder builder;
    const std::unique_ptr<ByteSource> source = *ByteSource::FromStream(std::make_unique<std::istringstream>(text));
    const ReadResult result = read(*source, builder);
    CHECK(result.status.ok() && result.records > 0);
    benchmark::DoNotOptimize(builder.Finish());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kRows);
}

void BM_ReadOpsCsv(benchmark::State& state) {
  ReadRepeatedly(state, OpsCsv(),
                 [](ByteSource& source, EvidenceBuilder& builder) { return ReadOpsCsv(source, "j", builder); });
}
BENCHMARK(BM_ReadOpsCsv)->Unit(benchmark::kMillisecond);

void BM_ReadMetricsCsv(benchmark::State& state) {
  ReadRepeatedly(state, MetricsCsv(),
                 [](ByteSource& source, EvidenceBuilder& builder) { return ReadMetricsCsv(source, "j", builder); });
}
BENCHMARK(BM_ReadMetricsCsv)->Unit(benchmark::kMillisecond);

void BM_ReadKineto(benchmark::State& state) {
  ReadRepeatedly(state, Kineto(), [](ByteSource& source, EvidenceBuilder& builder) {
    return ReadKineto("rank0.json", source, builder.Job("j"), builder);
  });
}
BENCHMARK(BM_ReadKineto)->Unit(benchmark::kMillisecond);

// The patterns of the rank alone, as `lockstep patterns` makes them.
void BM_ReadKinetoProfile(benchmark::State& state) {
  ReadRepeatedly(state, Kineto(), [](ByteSource& source, EvidenceBuilder&) {
    const ProfileResult result = ReadKinetoProfile("rank0.json", source);
    return ReadResult{result.status, result.events};
  });
}
BENCHMARK(BM_ReadKinetoProfile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::RunBenchmarks(argc, argv); }
