// A Kineto trace from anywhere.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/kineto_reader.h"
#include "formats/read_result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size));
  const auto source = lockstep::ByteSource::FromStream(std::move(bytes));
  CHECK(source.ok());
  lockstep::EvidenceBuilder builder;
  const lockstep::ReadResult result = lockstep::ReadKineto("rank0", **source, builder.Job("fuzz"), builder);
  CHECK(result.status.ok() || !result.status.message().empty());
  builder.Finish();
  return 0;
}
