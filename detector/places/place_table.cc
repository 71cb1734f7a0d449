#include "detector/places/place_table.h"

namespace lockstep {

const char* Name(PlaceKind kind) {
  static constexpr const char* kNames[kPlaceKinds] = {"rack", "leaf", "power feed", "image"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace lockstep
