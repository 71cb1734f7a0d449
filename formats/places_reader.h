// Reads where machines stand: header host,rack,leaf,power,image, of which only host must be there. docs/formats.md
// describes it.
//
// One row per machine, columns in any order, unknown ones ignored, an empty cell = not known. Of two rows about one
// machine the later one counts.

#ifndef LOCKSTEP_FORMATS_PLACES_READER_H_
#define LOCKSTEP_FORMATS_PLACES_READER_H_

#include "detector/model/place_table.h"
#include "formats/byte_source.h"
#include "formats/read_result.h"

namespace lockstep {

// Adds to `places`, up to kMaxPlacedHosts in all; more are malformed rows.
ReadResult ReadPlaces(ByteSource& source, PlaceTable& places);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_PLACES_READER_H_
