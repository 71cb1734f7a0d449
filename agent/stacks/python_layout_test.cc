// The table of offsets against what interpreters of those versions say: testdata/python-3.N.txt is what
// testdata/python_offsets.c printed, compiled with the headers of the version that its first line names.

#include "agent/stacks/python_layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/stacks/testing/python_image.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

constexpr uint64_t kRuntime = 0x10000;

struct NamedField {
  const char* name;
  uint64_t PythonLayout::*field;
};
constexpr NamedField kFields[] = {
    {"first_interpreter", &PythonLayout::first_interpreter},
    {"next_interpreter", &PythonLayout::next_interpreter},
    {"first_thread", &PythonLayout::first_thread},
    {"next_thread", &PythonLayout::next_thread},
    {"thread_handle", &PythonLayout::thread_handle},
    {"native_id", &PythonLayout::native_id},
    {"top_frame", &PythonLayout::top_frame},
    {"cframe_top", &PythonLayout::cframe_top},
    {"previous_frame", &PythonLayout::previous_frame},
    {"frame_code", &PythonLayout::frame_code},
    {"frame_owner", &PythonLayout::frame_owner},
    {"code_file", &PythonLayout::code_file},
    {"code_name", &PythonLayout::code_name},
    {"code_first_line", &PythonLayout::code_first_line},
    {"text_length", &PythonLayout::text_length},
    {"text_state", &PythonLayout::text_state},
    {"ascii_header", &PythonLayout::ascii_header},
    {"wide_header", &PythonLayout::wide_header},
};

// Numbers by name; those that a version has not are not there.
std::map<std::string, uint64_t> Printed(int minor) {
  std::ifstream file(absl::StrCat("agent/stacks/testdata/python-3.", minor, ".txt"));
  std::map<std::string, uint64_t> printed;
  std::string word;
  std::string version;
  file >> word >> version;
  EXPECT_EQ(version.substr(0, version.rfind('.')), absl::StrCat("3.", minor));
  for (uint64_t number = 0; file >> word >> number;) printed[word] = number;
  EXPECT_GT(printed.size(), 12u);
  return printed;
}

class PythonLayoutTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(WithATable, PythonLayoutTest, ::testing::Range(kOldestPython, kNewestPython));

TEST_P(PythonLayoutTest, EachOffsetIsThatOfTheHeaders) {
  ImageMemory memory;
  const auto layout = FindPythonLayout(memory, GetParam(), kRuntime);
  ASSERT_OK(layout);
  const std::map<std::string, uint64_t> printed = Printed(GetParam());
  for (const NamedField& row : kFields) {
    const auto found = printed.find(row.name);
    EXPECT_EQ((*layout).*row.field, found == printed.end() ? kNoField : found->second) << row.name;
  }
}

// The interpreter says its offsets itself: each in another place of its table, told apart by their values.
TEST(DebugOffsetsTest, Of313EachFieldIsReadWhereTheInterpreterHasIt) {
  std::map<std::string, uint64_t> printed = Printed(13);
  ImageMemory memory;
  memory.Write(kRuntime, std::string(4096, '\0'));
  memory.Write(kRuntime, "xdebugpy");
  memory.Put<uint64_t>(kRuntime + printed.at("version"), 0x030D00F0);
  uint64_t value = 1000;
  std::map<std::string, uint64_t> expected;
  for (const NamedField& row : kFields) {
    if (printed.count(row.name) == 0) continue;
    expected[row.name] = ++value;
    memory.Put<uint64_t>(kRuntime + printed.at(row.name), value);
  }
  expected["wide_header"] = expected.at("ascii_header") + printed.at("wide_header_beyond_ascii");
  const auto layout = FindPythonLayout(memory, 13, kRuntime);
  ASSERT_OK(layout);
  for (const NamedField& row : kFields) {
    const auto found = expected.find(row.name);
    EXPECT_EQ((*layout).*row.field, found == expected.end() ? kNoField : found->second) << row.name;
  }
  memory.Put<uint64_t>(kRuntime + printed.at("free_threaded"), 1);
  EXPECT_FALSE(FindPythonLayout(memory, 13, kRuntime).ok());
}

}  // namespace
}  // namespace lockstep
