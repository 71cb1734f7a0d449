// Proves that a sanitizer build would notice: each of these programs must die under its sanitizer.
//
// Without a sanitizer the tests have nothing to prove and say so by skipping.

#include <gtest/gtest.h>

#include <climits>
#include <thread>

namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSTEP_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_THREAD_SANITIZER 1
#endif
#endif

// Opaque to the optimizer: it must not see that the program is wrong.
volatile int zero = 0;

[[maybe_unused]] void ReadPastTheEnd() {
  const int* const numbers = new int[4]{1, 2, 3, 4};
  const volatile int read = numbers[4 + zero];
  delete[] numbers;
  std::exit(read == 0 ? 0 : 0);
}

[[maybe_unused]] void OverflowAnInt() {
  const int biggest = INT_MAX - zero;
  const volatile int sum = biggest + 1;
  std::exit(sum == 0 ? 0 : 0);
}

[[maybe_unused]] void WriteFromTwoThreads() {
  int shared = 0;
  std::thread other([&shared] {
    for (int i = 0; i < 100000; ++i) shared = i;
  });
  for (int i = 0; i < 100000; ++i) shared = i;
  other.join();
  std::exit(0);
}

TEST(SanitizerAlive, AddressSanitizerSeesAReadPastTheEnd) {
#ifdef LOCKSTEP_ADDRESS_SANITIZER
  EXPECT_DEATH(ReadPastTheEnd(), "heap-buffer-overflow");
#else
  GTEST_SKIP() << "not an AddressSanitizer build";
#endif
}

TEST(SanitizerAlive, UndefinedBehaviorSanitizerSeesAnOverflow) {
#ifdef LOCKSTEP_ADDRESS_SANITIZER
  EXPECT_DEATH(OverflowAnInt(), "signed integer overflow");
#else
  GTEST_SKIP() << "not an UndefinedBehaviorSanitizer build";
#endif
}

TEST(SanitizerAlive, ThreadSanitizerSeesARace) {
#ifdef LOCKSTEP_THREAD_SANITIZER
  EXPECT_DEATH(WriteFromTwoThreads(), "data race");
#else
  GTEST_SKIP() << "not a ThreadSanitizer build";
#endif
}

}  // namespace
