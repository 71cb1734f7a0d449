// Numbers and texts in Kineto's events, in the ways in which its versions write them.
//
// For sources only: it includes all of simdjson. Pure functions; thread-safe.

#ifndef LOCKSTEP_FORMATS_KINETO_VALUE_H_
#define LOCKSTEP_FORMATS_KINETO_VALUE_H_

#include <simdjson.h>

#include <cstdint>

#include "absl/strings/string_view.h"

namespace lockstep {

// "" for what is no text.
absl::string_view KinetoText(const simdjson::dom::element& value);

// Numbers, also those that were written as text.
int64_t KinetoInteger(const simdjson::dom::element& value, int64_t otherwise);

// 0 for what is no finite number.
double KinetoReal(const simdjson::dom::element& value);

// Microseconds with or without a fraction, to nanoseconds. False for what is none, or too many.
bool KinetoMicros(const simdjson::dom::element& value, int64_t& nanos);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_KINETO_VALUE_H_
