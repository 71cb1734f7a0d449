#include "daemon/loopback.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(LoopbackTest, OnlyWhatNoOtherMachineReaches) {
  for (const char* inside : {"127.0.0.1:7070", "127.255.0.9:0", "localhost:1", "[::1]:7070", "LOCALHOST:80"}) {
    EXPECT_TRUE(IsLoopbackAddress(inside)) << inside;
  }
  for (const char* outside : {"0.0.0.0:7070", ":7070", "[::]:7070", "10.0.0.1:1", "128.0.0.1:1", "node-1:7070", "",
                              "127.0.0.1", "127.1:80", "localhost.example.org:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_FALSE(IsLoopbackAddress(outside)) << outside;
  }
}

}  // namespace
}  // namespace lockstep
