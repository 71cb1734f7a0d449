// One way to write the address of a PCI device, which NVML, CUDA, drivers and the kernel write each in their own. Pure.

#ifndef LOCKSTEP_BASE_PCI_ADDRESS_H_
#define LOCKSTEP_BASE_PCI_ADDRESS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// "0000:3B:00", "PCI:0000:3b:00", "00000000:3B:00.0" -> "0000:3b:00.0"; "" for what is not a PCI address.
std::string NormalizePciAddress(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PCI_ADDRESS_H_
