#include "collector/convert/places.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "collector/convert/check_name.h"

namespace lockstep {
namespace {

// The wire begins with "unspecified" and goes on in the same order.
std::optional<size_t> IndexOf(wire::PlaceKind kind) {
  if (kind < wire::PLACE_KIND_RACK || kind > wire::PLACE_KIND_IMAGE) return std::nullopt;
  return static_cast<size_t>(kind) - 1;
}
static_assert(wire::PLACE_KIND_RACK == 1 && wire::PLACE_KIND_IMAGE == kPlaceKinds);

}  // namespace

Places ToPlaces(const WirePlaces& from, ConvertLosses& losses) {
  Places places;
  const int looked_at = std::min(from.size(), kMaxPlacesPerHost);
  losses.odd_places += static_cast<uint64_t>(from.size() - looked_at);
  for (int i = 0; i < looked_at; ++i) {
    const wire::Place& place = from.Get(i);
    if (place.name().empty()) continue;
    const std::optional<size_t> kind = IndexOf(place.kind());
    if (!kind.has_value() || !places[*kind].empty() || !CheckName("place", place.name(), kMaxPlaceBytes).ok()) {
      ++losses.odd_places;
      continue;
    }
    places[*kind] = place.name();
  }
  return places;
}

WirePlaces ToWire(const Places& places) {
  WirePlaces wire;
  for (size_t kind = 0; kind < kPlaceKinds; ++kind) {
    if (places[kind].empty()) continue;
    wire::Place* const place = wire.Add();
    place->set_kind(static_cast<wire::PlaceKind>(kind + 1));
    place->set_name(places[kind]);
  }
  return wire;
}

}  // namespace lockstep
