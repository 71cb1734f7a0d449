#include "formats/places_reader.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "formats/csv_row.h"
#include "formats/csv_table.h"

namespace lockstep {
namespace {

// The host, then the kinds of place in their order.
constexpr CsvColumn kColumns[] = {{"host", true}, {"rack"}, {"leaf"}, {"power"}, {"image"}};
static_assert(std::size(kColumns) == 1 + kPlaceKinds);

}  // namespace

ReadResult ReadPlaces(ByteSource& source, PlaceTable& places) {
  return ReadCsv(source, kColumns, [&places](const CsvRow& row, absl::Span<const int> at) {
    std::string host(row.cell(at[0]));
    if (host.empty()) return BadCell("host", "a name", "");
    if (places.of_host.size() >= kMaxPlacedHosts && !places.of_host.contains(host)) {
      return absl::ResourceExhaustedError("too many hosts with places");
    }
    Places of_host;
    for (size_t kind = 0; kind < kPlaceKinds; ++kind) of_host[kind] = std::string(row.cell(at[1 + kind]));
    places.of_host[std::move(host)] = std::move(of_host);
    return absl::OkStatus();
  });
}

}  // namespace lockstep
