// ops-csv, metrics-csv and fault labels from anywhere, also compressed. The length chooses between the first two.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/fault_labels_reader.h"
#include "formats/metrics_csv_reader.h"
#include "formats/ops_csv_reader.h"
#include "formats/read_result.h"

namespace {

std::unique_ptr<lockstep::ByteSource> SourceOf(const uint8_t* data, size_t size) {
  auto source = lockstep::ByteSource::FromStream(
      std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size)));
  CHECK(source.ok());
  return *std::move(source);
}

void ReadLabels(lockstep::ByteSource& source) {
  std::vector<lockstep::FaultLabel> labels;
  const lockstep::ReadResult result = lockstep::ReadFaultLabels(source, labels);
  CHECK(result.status.ok() || !result.status.message().empty());
  for (const lockstep::FaultLabel& label : labels) CHECK(!label.job.empty() && label.begin_ms <= label.end_ms);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ReadLabels(*SourceOf(data, size));
  const std::unique_ptr<lockstep::ByteSource> source = SourceOf(data, size);
  lockstep::EvidenceBuilder builder;
  const lockstep::ReadResult result = size % 2 == 0 ? lockstep::ReadOpsCsv(*source, "fuzz", builder)
                                                    : lockstep::ReadMetricsCsv(*source, "fuzz", builder);
  CHECK(result.status.ok() || !result.status.message().empty());
  builder.Finish();
  return 0;
}
