#include "base/pci_address.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(PciAddressTest, ComesInOneForm) {
  EXPECT_EQ(NormalizePciAddress("PCI:0000:3B:00"), "0000:3b:00.0");
  EXPECT_EQ(NormalizePciAddress("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(NormalizePciAddress("00010000:3b:00.1"), "10000:3b:00.1");
  EXPECT_EQ(NormalizePciAddress("0000:3b:00.0:"), "0000:3b:00.0");
  for (const char* text : {"", ":", "::", "eth0", "0000:3b", "0000:3b:0", "0000:3b:00.", "0000:3g:00.0",
                           "0000:3b:00.0.1", "000000000:3b:00.0", "3b:00.0"}) {
    EXPECT_EQ(NormalizePciAddress(text), "") << text;
  }
}

}  // namespace
}  // namespace lockstep
