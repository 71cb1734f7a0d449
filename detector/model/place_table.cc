#include "detector/model/place_table.h"

#include <algorithm>

namespace lockstep {

const char* Name(PlaceKind kind) {
  static constexpr const char* kNames[kPlaceKinds] = {"rack", "leaf", "power feed", "image"};
  return kNames[static_cast<size_t>(kind)];
}

bool AnyKnown(const Places& places) {
  return std::any_of(places.begin(), places.end(), [](const std::string& name) { return !name.empty(); });
}

}  // namespace lockstep
