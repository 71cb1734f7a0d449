#include "base/fnv1a.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Published test vectors of FNV-1a, 64 bits.
TEST(Fnv1aTest, AgreesWithPublishedVectors) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8u);
}

TEST(Fnv1aTest, GoesOnWhereItEnded) {
  EXPECT_EQ(Fnv1a(Fnv1a("foo"), "bar"), Fnv1a("foobar"));
  EXPECT_EQ(Fnv1a(Fnv1a("fooba"), uint64_t{'r'}), Fnv1a("foobar"));
  EXPECT_EQ(Fnv1a("\xff"), Fnv1a(kFnv1aOfNothing, uint64_t{0xff})) << "bytes are unsigned";
}

}  // namespace
}  // namespace lockstep
