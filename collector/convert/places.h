// Places of a machine, from the wire to values of the detector and back.
//
// At most kMaxPlacesPerHost entries are looked at, and one of each kind counts: the first. Kinds of newer agents,
// repeated kinds, names that may not be names and entries beyond the limit are left out and counted. Pure.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_PLACES_H_
#define LOCKSTEP_COLLECTOR_CONVERT_PLACES_H_

#include <google/protobuf/repeated_ptr_field.h>

#include "collector/convert/convert_losses.h"
#include "detector/model/place_table.h"
#include "proto/place.pb.h"

namespace lockstep {

using WirePlaces = google::protobuf::RepeatedPtrField<wire::Place>;

inline constexpr int kMaxPlacesPerHost = 16;
inline constexpr int kMaxPlaceBytes = 128;

Places ToPlaces(const WirePlaces& from, ConvertLosses& losses);

// Those that are known, by kind. ToPlaces gives the same places again.
WirePlaces ToWire(const Places& places);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_PLACES_H_
