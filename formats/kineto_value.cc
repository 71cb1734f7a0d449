#include "formats/kineto_value.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "formats/time_range.h"

namespace lockstep {
namespace {

constexpr double kNanosPerMicro = 1000;
constexpr auto kMaxMicros = static_cast<double>(kMostMicros);

}  // namespace

absl::string_view KinetoText(const simdjson::dom::element& value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return "";
  return {text.data(), text.size()};
}

int64_t KinetoInteger(const simdjson::dom::element& value, int64_t otherwise) {
  int64_t integer = 0;
  if (value.get(integer) == simdjson::SUCCESS) return integer;
  double real = 0;
  if (value.get(real) == simdjson::SUCCESS && std::fabs(real) < kMaxMicros) return std::llround(real);
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return otherwise;
  return std::from_chars(text.data(), text.data() + text.size(), integer).ec == std::errc() ? integer : otherwise;
}

double KinetoReal(const simdjson::dom::element& value) {
  double real = 0;
  return value.get(real) == simdjson::SUCCESS && std::isfinite(real) ? real : 0;
}

bool KinetoMicros(const simdjson::dom::element& value, int64_t& nanos) {
  int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS) {
    if (std::fabs(static_cast<double>(whole)) > kMaxMicros) return false;
    nanos = whole * 1000;
    return true;
  }
  double real = 0;
  if (value.get(real) != simdjson::SUCCESS || !(std::fabs(real) < kMaxMicros)) return false;
  // The fraction apart: microseconds since 1970 leave a double no digits for it.
  const double floor = std::floor(real);
  nanos = static_cast<int64_t>(floor) * 1000 + std::llround((real - floor) * kNanosPerMicro);
  return true;
}

}  // namespace lockstep
