// A fuzzer that must fail: it proves that the machinery would notice. `./dev fuzz` expects its crash.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 3 && data[0] == 'B' && data[1] == 'U' && data[2] == 'G') std::abort();
  return 0;
}
