#include "base/pci_address.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace lockstep {
namespace {

bool IsHex(absl::string_view text, size_t min_digits, size_t max_digits) {
  return text.size() >= min_digits && text.size() <= max_digits && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c));
         });
}

// Takes what is before `end` off the front of `text`; false if there is no `end`.
bool TakeUntil(absl::string_view& text, char end, absl::string_view& field) {
  const size_t at = text.find(end);
  if (at == absl::string_view::npos) return false;
  field = text.substr(0, at);
  text.remove_prefix(at + 1);
  return true;
}

}  // namespace

std::string NormalizePciAddress(absl::string_view text) {
  absl::ConsumePrefix(&text, "PCI:");
  absl::ConsumeSuffix(&text, ":");
  absl::string_view domain, bus;
  if (!TakeUntil(text, ':', domain) || !TakeUntil(text, ':', bus)) return "";
  absl::string_view device = text;
  absl::string_view function = "0";
  if (TakeUntil(text, '.', device)) function = text;
  if (!IsHex(domain, 4, 8) || !IsHex(bus, 2, 2) || !IsHex(device, 2, 2) || !IsHex(function, 1, 1)) return "";
  // NVML writes the domain with eight digits, the kernel with as many as it takes, four at least.
  while (domain.size() > 4 && domain.front() == '0') domain.remove_prefix(1);
  return absl::AsciiStrToLower(absl::StrCat(domain, ":", bus, ":", device, ".", function));
}

}  // namespace lockstep
