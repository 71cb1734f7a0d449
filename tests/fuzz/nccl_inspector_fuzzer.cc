// NCCL Inspector records from anywhere.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/nccl_inspector_reader.h"
#include "formats/read_result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size));
  const auto source = lockstep::ByteSource::FromStream(std::move(bytes));
  CHECK(source.ok());
  lockstep::EvidenceBuilder builder;
  lockstep::NcclInspectorReader reader(builder);
  const lockstep::ReadResult result = reader.Read(**source, builder.Job("fuzz"));
  CHECK(result.status.ok() || !result.status.message().empty());
  reader.Finish();
  builder.Finish();
  return 0;
}
