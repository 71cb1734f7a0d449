// A Flight Recorder dump from anywhere: pickle or JSON.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "formats/byte_source.h"
#include "formats/evidence_builder.h"
#include "formats/flight_recorder_reader.h"
#include "formats/read_result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::make_unique<std::istringstream>(std::string(reinterpret_cast<const char*>(data), size));
  const auto source = lockstep::ByteSource::FromStream(std::move(bytes));
  CHECK(source.ok());
  lockstep::EvidenceBuilder builder;
  lockstep::FlightRecorderReader reader(builder);
  const lockstep::ReadResult result = reader.Read("rank0", **source, builder.Job("fuzz"));
  CHECK(result.status.ok() || !result.status.message().empty());
  reader.Finish();
  builder.Finish();
  return 0;
}
