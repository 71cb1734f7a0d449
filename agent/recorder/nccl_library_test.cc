// libnccl-profiler-lockstep.so as a file: what it shows, what it needs, and that one line of g++ builds it.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/testing/ring_directory.h"

namespace lockstep::ring {
namespace {

constexpr char kLibrary[] = "agent/recorder/libnccl-profiler-lockstep.so";

// What a command writes; its exit status goes to `status`.
std::string Output(const std::string& command, int* status) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, got);
  *status = pclose(pipe);
  return text;
}

// The last words of the lines of `text` that contain `mark`.
std::set<std::string> LastWords(const std::string& text, const std::string& mark) {
  std::set<std::string> words;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find(mark) != std::string::npos) words.insert(line.substr(line.rfind(' ') + 1));
    begin = end + 1;
  }
  return words;
}

std::set<std::string> ProfilerSymbols() {
  std::set<std::string> symbols;
  for (int version = nccl_abi::kOldestVersion; version <= nccl_abi::kNewestVersion; ++version) {
    symbols.insert("ncclProfiler_v" + std::to_string(version));
  }
  return symbols;
}

TEST(NcclLibraryTest, ShowsSevenDataSymbolsAndNothingElse) {
  int status = -1;
  const std::string text = Output(std::string("nm -D --defined-only --extern-only ") + kLibrary, &status);
  ASSERT_EQ(status, 0) << text;
  EXPECT_EQ(LastWords(text, " "), ProfilerSymbols());
  EXPECT_EQ(LastWords(text, " T "), std::set<std::string>{}) << "functions are not looked up";
}

TEST(NcclLibraryTest, NeedsTheCLibraryAloneAndStaysLoaded) {
  int status = -1;
  const std::string text = Output(std::string("readelf -dW ") + kLibrary, &status);
  ASSERT_EQ(status, 0) << text;
  for (const std::string& needed : LastWords(text, "(NEEDED)")) {
    EXPECT_TRUE(needed == "[libc.so.6]" || needed == "[libdl.so.2]" || needed == "[ld-linux-x86-64.so.2]" ||
                needed == "[ld-linux-aarch64.so.1]")
        << needed;
  }
  EXPECT_NE(text.find("NODELETE"), std::string::npos) << text;
}

// NCCL and the program unload, fork and exit as they like: nothing of ours may run by then.
TEST(NcclLibraryTest, CannotLeaveAThreadOrAnExitHandlerBehind) {
  int status = -1;
  const std::string text = Output(std::string("nm -D --undefined-only ") + kLibrary, &status);
  ASSERT_EQ(status, 0) << text;
  ASSERT_NE(text.find(" U getenv@"), std::string::npos) << "imports are not listed as expected";
  for (const char* function : {"pthread_create", "thrd_create", "clone", "atexit", "__cxa_atexit", "on_exit",
                               "at_quick_exit", "__cxa_thread_atexit_impl"}) {
    EXPECT_EQ(text.find(std::string(" U ") + function + "@"), std::string::npos) << function;
  }
}

TEST(NcclLibraryTest, OneLineBuildsIt) {
  const std::string page = ReadFile("docs/nccl.md");
  const size_t begin = page.find("    g++ ");
  const size_t end = page.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos);
  RingDirectory scratch;
  std::string line = page.substr(begin, end - begin);
  const std::string target = "-o libnccl-profiler-lockstep.so";
  const size_t output = line.find(target);
  ASSERT_NE(output, std::string::npos);
  const std::string library = scratch.path() + "/libnccl-profiler-lockstep.so";
  line.replace(output, target.size(), "-O0 -o " + library);
  FILE* script = fopen((scratch.path() + "/build.sh").c_str(), "w");
  ASSERT_NE(script, nullptr);
  fputs(line.c_str(), script);
  fclose(script);
  int status = -1;
  const std::string said = Output("bash " + scratch.path() + "/build.sh", &status);
  EXPECT_EQ(status, 0) << said;
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << dlerror();
  for (const std::string& symbol : ProfilerSymbols()) EXPECT_NE(dlsym(loaded, symbol.c_str()), nullptr) << symbol;
}

}  // namespace
}  // namespace lockstep::ring
