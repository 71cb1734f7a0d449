// Reads the records of a segment, whatever has become of its bytes.
//
//   - A last record that is cut, or an end of zeros (file systems leave them after a power failure), is torn: it ends
//     the segment and is nobody's fault.
//   - Anything else that is no record is corrupt: the next record that has its checksum goes on behind it.
//
// Not thread-safe. Pure. Borrows the bytes.

#ifndef LOCKSTEP_AGENT_SPOOL_SEGMENT_READER_H_
#define LOCKSTEP_AGENT_SPOOL_SEGMENT_READER_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/spool/segment_format.h"

namespace lockstep {

class SegmentReader {
 public:
  // Markers behind a corrupt place that are tried. Behind more of them, which chance does not make, the rest is given
  // up.
  static constexpr int kMaxTries = 256;

  // The errors of DecodeSegmentHeader.
  static absl::StatusOr<SegmentReader> Open(absl::string_view segment);

  const SegmentHeader& header() const { return header_; }

  // False = there is no further record.
  bool Next(SegmentRecord& record);

  size_t corrupt_places() const { return corrupt_places_; }
  size_t corrupt_bytes() const { return corrupt_bytes_; }
  size_t torn_bytes() const { return torn_bytes_; }  // valid once Next has returned false

 private:
  SegmentReader(SegmentHeader header, absl::string_view rest) : header_(std::move(header)), rest_(rest) {}

  // Moves to the next record behind the nonsense at the front. False = there is none.
  bool Resynchronise(RecordTry& attempt);

  SegmentHeader header_;
  absl::string_view rest_;
  int tries_ = 0;
  size_t corrupt_places_ = 0;
  size_t corrupt_bytes_ = 0;
  size_t torn_bytes_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SPOOL_SEGMENT_READER_H_
