#include "cli/render/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/without_controls.h"

namespace lockstep {
namespace {

constexpr size_t kGap = 2;

bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::string Padded(const std::string& text, size_t width, TextTable::Align align) {
  const std::string padding(width - std::min(width, DisplayWidth(text)), ' ');
  return align == TextTable::Align::kRight ? absl::StrCat(padding, text) : absl::StrCat(text, padding);
}

}  // namespace

std::string Printable(absl::string_view text) { return WithoutControls(text, '?'); }

size_t DisplayWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::string Shortened(absl::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if (BeginsCharacter(text[end]) && ++characters == width) break;
  }
  return absl::StrCat(text.substr(0, end), "…");
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) { CHECK(!columns_.empty()); }

void TextTable::AddRow(const std::vector<std::string>& cells) {
  CHECK(cells.size() == columns_.size());
  std::vector<std::string>& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(Printable(cell));
}

std::string TextTable::Render(int width, bool coloured) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  const size_t last = columns_.size() - 1;
  if (width > 0) {
    size_t before = 0;
    for (size_t i = 0; i < last; ++i) before += widths[i] + kGap;
    const size_t room = static_cast<size_t>(width) > before ? static_cast<size_t>(width) - before : 0;
    widths[last] = std::min(widths[last], std::max(room, DisplayWidth(columns_[last].title)));
  }

  std::string text;
  const auto add_line = [&](bool is_row, const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      const std::string& cell = cell_of(i);
      const std::string padded = Padded(Shortened(cell, widths[i]), widths[i], columns_[i].align);
      const bool paint = coloured && is_row && columns_[i].colour_of != nullptr;
      line += paint ? Coloured(padded, columns_[i].colour_of(cell)) : padded;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  };
  add_line(/*is_row=*/false, [&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    add_line(/*is_row=*/true, [&](size_t i) -> const std::string& { return row[i]; });
  }
  return text;
}

}  // namespace lockstep
