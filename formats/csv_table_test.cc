// Rows, cells and headers of CSV: what every CSV format shares.

#include "formats/csv_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "formats/byte_source.h"
#include "formats/csv_cell.h"
#include "formats/csv_row.h"
#include "formats/line_reader.h"
#include "formats/read_result.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using Cells = std::vector<std::string>;

Cells CellsOf(const CsvRow& row) {
  Cells cells;
  for (size_t i = 0; i < row.size(); ++i) cells.emplace_back(row.cell(static_cast<int>(i)));
  return cells;
}

TEST(CsvRowCellsTest, QuotesHoldCommasAndQuotes) {
  const struct {
    const char* line;
    Cells cells;
  } cases[] = {
      {"", {""}},
      {",", {"", ""}},
      {"a", {"a"}},
      {"a,,b", {"a", "", "b"}},
      {"\"\"", {""}},
      {"\"\",x", {"", "x"}},
      {"\"a,b\",c", {"a,b", "c"}},
      {"c,\"a,b\"", {"c", "a,b"}},
      {"\"\"\"\"", {"\""}},
      {"\"say \"\"hi\"\"\",1", {"say \"hi\"", "1"}},
      {"\",\",\",,\"", {",", ",,"}},
      {" a , b ", {" a ", " b "}},
  };
  CsvRow row;
  for (const auto& [line, cells] : cases) {
    ASSERT_TRUE(row.Split(line)) << line;
    EXPECT_EQ(CellsOf(row), cells) << line;
  }
  for (const char* open : {"\"", "a,\"b", "\"a\"\"", "a,\"b\",\"c"}) EXPECT_FALSE(row.Split(open)) << open;
}

TEST(CsvRowCellsTest, ACellThatIsWrittenIsReadAgain) {
  Random random(1);
  CsvRow row;
  for (int round = 0; round < 3'000; ++round) {
    Cells cells;
    for (uint64_t n = 1 + random.Below(6); n > 0; --n) {
      cells.emplace_back();
      for (uint64_t length = random.Below(8); length > 0; --length)
        cells.back().push_back("ab,\" \r'\xc3"[random.Below(8)]);
    }
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line.push_back(',');
      AppendCsvCell(line, cells[i]);
    }
    ASSERT_TRUE(row.Split(line)) << line;
    EXPECT_EQ(CellsOf(row), cells) << line;
  }
}

TEST(CsvRowCellsTest, ColumnsThatARowDoesNotHaveAreEmpty) {
  CsvRow row;
  ASSERT_TRUE(row.Split("a,b"));
  EXPECT_EQ(row.cell(-1), "");
  EXPECT_EQ(row.cell(1), "b");
  EXPECT_EQ(row.cell(2), "");
}

TEST(CsvRowCellsTest, ARowHasALimitWithAndWithoutQuotes) {
  CsvRow row;
  for (const char* first : {"x", "\"x\""}) {
    const std::string most = first + std::string(kMaxCsvColumns - 1, ',');
    EXPECT_TRUE(row.Split(most)) << first;
    EXPECT_EQ(row.size(), kMaxCsvColumns) << first;
    EXPECT_FALSE(row.Split(most + ",")) << first;
  }
}

template <typename Number>
void ExpectNumber(absl::string_view cell, Number expected) {
  Number value = 0;
  EXPECT_TRUE(ParseCell(cell, value)) << cell;
  EXPECT_EQ(value, expected) << cell;
}

template <typename Number>
void ExpectNoNumber(std::initializer_list<absl::string_view> cells) {
  for (const absl::string_view cell : cells) {
    Number value = 0;
    EXPECT_FALSE(ParseCell(cell, value)) << "'" << cell << "'";
  }
}

TEST(CsvNumberTest, NumbersFillTheirTypesAndNoMore) {
  ExpectNumber<int32_t>("2147483647", std::numeric_limits<int32_t>::max());
  ExpectNumber<int32_t>("-2147483648", std::numeric_limits<int32_t>::min());
  ExpectNumber<int64_t>("9223372036854775807", std::numeric_limits<int64_t>::max());
  ExpectNumber<int64_t>("-9223372036854775808", std::numeric_limits<int64_t>::min());
  ExpectNumber<uint64_t>("18446744073709551615", std::numeric_limits<uint64_t>::max());
  ExpectNumber<int32_t>("-0", 0);
  ExpectNumber<int64_t>("007", 7);
  ExpectNumber<double>("-1.5e-3", -0.0015);
  ExpectNumber<double>("4.9406564584124654e-324", std::numeric_limits<double>::denorm_min());
  ExpectNumber<double>("INF", std::numeric_limits<double>::infinity());
  double nan = 0;
  EXPECT_TRUE(ParseCell("NaN", nan));
  EXPECT_TRUE(std::isnan(nan));

  ExpectNoNumber<int32_t>({"2147483648", "-2147483649", "", " 1", "1 ", "+1", "1.0", "0x10", "1e3", "--1", "x"});
  ExpectNoNumber<int64_t>({"9223372036854775808", "-9223372036854775809", "", "1_000", "\t1", "1,0"});
  ExpectNoNumber<uint64_t>({"18446744073709551616", "-1", "", "1u"});
  ExpectNoNumber<double>({"1e999", "", "1.5.2", "0x1p3", "one", " 1.0", "1.0 "});
}

constexpr CsvColumn kColumns[] = {{"name", true}, {"count"}};

struct ReadRows {
  ReadResult result;
  std::vector<Cells> rows;  // name, count
};

// Rows whose count is "bad" do not fit.
ReadRows Read(const std::string& text) {
  ReadRows read;
  const auto source = SourceOf(text);
  read.result = ReadCsv(*source, kColumns, [&read](const CsvRow& row, absl::Span<const int> at) {
    if (row.cell(at[1]) == "bad") return BadCell("count", "a good one", row.cell(at[1]));
    read.rows.push_back({std::string(row.cell(at[0])), std::string(row.cell(at[1]))});
    return absl::OkStatus();
  });
  return read;
}

TEST(CsvTableTest, FindsItsColumnsWhereverTheyStand) {
  const std::vector<Cells> expected = {{"a", "1"}, {"b", ""}};
  for (const char* text : {
           "name,count\na,1\nb,\n",
           "count,name\n1,a\n,b\n",
           "x,name,y,count\n?,a,?,1\n?,b,?,\n",
           "name,count\na,1\nb\n",                  // a row that is cut short has empty cells
           "name,count\na,1,more\nb,,more,more\n",  // and one that is too long has some that nobody asked for
           " name ,\tcount\na,1\nb,\n",             // spaces around the names of columns
           "\"name\",\"count\"\n\"a\",\"1\"\n\"b\",\"\"\n",
           "name,count\r\na,1\r\nb,\r\n",
           "\xef\xbb\xbfname,count\na,1\nb,",
           "\n\nname,count\n\na,1\n\n\r\nb,\n\n",
       }) {
    const ReadRows read = Read(text);
    EXPECT_OK(read.result.status) << text;
    EXPECT_EQ(read.rows, expected) << text;
    EXPECT_EQ(read.result.records, 2u);
    EXPECT_EQ(read.result.malformed, 0u);
  }
}

TEST(CsvTableTest, AnAbsentColumnIsEmptyInAllRows) {
  EXPECT_EQ(Read("name\na\nb\n").rows, (std::vector<Cells>{{"a", ""}, {"b", ""}}));
}

TEST(CsvTableTest, AFileWithoutItsHeaderIsRefused) {
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"", "line 1: expected a header, found the end of the file"},
      {"\n\n", "line 1: expected a header, found the end of the file"},
      {"count\n1\n", "line 1: expected a column 'name', found the header 'count'"},
      {"\n\r\nName,count\n", "line 3: expected a column 'name', found the header 'Name,count'"},
      {"\"name,count\na,1\n", "line 1: expected a header, found an open quote or too many cells"},
      {std::string(300, ','), "line 1: expected a header, found an open quote or too many cells"},
      {std::string(70, 'x') + "\n",
       absl::StrCat("line 1: expected a column 'name', found the header '", std::string(60, 'x'), "...'")},
      {"\x01\xff\n", "line 1: expected a column 'name', found the header '\\x01\xff'"},
  };
  for (const auto& [text, message] : cases) {
    const ReadRows read = Read(text);
    EXPECT_THAT(read.result.status, StatusIs(absl::StatusCode::kDataLoss, message)) << text;
    EXPECT_TRUE(read.rows.empty());
    EXPECT_EQ(read.result.records, 0u);
  }
}

TEST(CsvTableTest, TheFirstMalformedRowIsNamedAndTheOthersAreRead) {
  const ReadRows read = Read("name,count\na,1\n\nb,bad\nc,\"3\nd,bad\ne,5\n");
  EXPECT_THAT(read.result.status,
              StatusIs(absl::StatusCode::kDataLoss, "line 4: column 'count': expected a good one, found 'bad'"));
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"a", "1"}, {"e", "5"}}));
  EXPECT_EQ(read.result.records, 2u);
  EXPECT_EQ(read.result.malformed, 3u);
}

TEST(CsvTableTest, AFileOfMalformedRowsIsGivenUp) {
  std::string text = "name,count\n";
  for (uint64_t i = 0; i < kMaxMalformedRows - 1; ++i) text += "a,bad\n";
  EXPECT_EQ(Read(text + "b,1\n").rows.size(), 1u) << "one fewer than the limit";
  const ReadRows read = Read(text + "a,bad\nb,1\nc,1\n");
  EXPECT_EQ(read.result.malformed, kMaxMalformedRows);
  EXPECT_TRUE(read.rows.empty());
}

TEST(CsvTableTest, WhatCannotBeReadEndsTheFileButNotWhatPrecedesIt) {
  const std::string text = "name,count\na,1\nb,2\n";
  const ReadRows cut = Read(Gzipped(text).substr(0, Gzipped(text).size() - 4));
  EXPECT_THAT(cut.result.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("found the end of the file, after")));
  const ReadRows endless = Read(text + std::string(kMaxLineBytes + 1, 'x'));
  EXPECT_THAT(endless.result.status, StatusIs(absl::StatusCode::kDataLoss,
                                              "line 4: expected at most 1048576 bytes, found more without a line end, "
                                              "after 2 rows"));
  EXPECT_EQ(endless.rows.size(), 2u);
}

TEST(CsvTableTest, WhatWasFoundIsCutShortAndMadePrintable) {
  EXPECT_EQ(BadCell("c", "e", "x\ny").message(), "column 'c': expected e, found 'x\\ny'");
  EXPECT_EQ(BadCell("c", "e", std::string(61, 'z')).message(),
            absl::StrCat("column 'c': expected e, found '", std::string(60, 'z'), "...'"));
}

}  // namespace
}  // namespace lockstep
