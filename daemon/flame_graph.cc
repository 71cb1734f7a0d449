#include "daemon/flame_graph.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fnv1a.h"

namespace lockstep {
namespace {

constexpr double kWidth = 1'200;
constexpr double kMargin = 10;
constexpr double kBarHeight = 18;
constexpr double kHeadHeight = 30;
constexpr double kLeastBarWidth = 0.3;
constexpr double kCharacterWidth = 6.6;  // of the monospace font below
constexpr double kTextPadding = 3;
constexpr size_t kMaxTitleBytes = 200;

// A frame and what it calls.
struct Node {
  uint64_t count = 0;
  std::map<std::string, Node> calls;  // by name
};

std::string Escaped(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?';
    }
  }
  return escaped;
}

// Warm, and the same for the same name, so that two graphs can be compared.
std::string ColourOf(const std::string& name) {
  const uint64_t hash = Fnv1a(name);
  return absl::StrFormat("rgb(%d,%d,%d)", 205 + hash % 50, 90 + hash / 64 % 120, 40 + hash / 8192 % 40);
}

class Drawing {
 public:
  explicit Drawing(uint64_t total) : total_(total) {}

  void Add(const std::string& name, const Node& node, double x, size_t depth) {
    const double width = (kWidth - 2 * kMargin) * static_cast<double>(node.count) / static_cast<double>(total_);
    if (width < kLeastBarWidth || bars_ == kMaxFlameBars) return;
    ++bars_;
    depth_ = std::max(depth_, depth + 1);
    const double y = kHeadHeight + kBarHeight * static_cast<double>(depth);
    const std::string full = Escaped(absl::StrFormat("%s: %d of %d samples", name, node.count, total_));
    absl::StrAppendFormat(
        &text_, "<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>", full, x,
        y, width, kBarHeight - 1, ColourOf(name));
    const auto fits = static_cast<size_t>(std::max(0.0, (width - 2 * kTextPadding) / kCharacterWidth));
    if (fits >= 3) {
      const std::string shown = name.size() <= fits ? name : name.substr(0, fits - 2) + "..";
      absl::StrAppendFormat(&text_, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", x + kTextPadding, y + kBarHeight - 5,
                            Escaped(shown));
    }
    text_ += "</g>\n";
    for (const auto& [callee, called] : node.calls) {
      Add(callee, called, x, depth + 1);
      x += (kWidth - 2 * kMargin) * static_cast<double>(called.count) / static_cast<double>(total_);
    }
  }

  std::string Finish(absl::string_view title) const {
    const double height = kHeadHeight + kBarHeight * static_cast<double>(depth_) + kMargin;
    return absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"monospace\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf5\"/>\n"
        "<text x=\"%.0f\" y=\"19\" font-size=\"13\">%s</text>\n%s</svg>\n",
        kWidth, height, kWidth, height, kMargin, Escaped(title.substr(0, kMaxTitleBytes)), text_);
  }

 private:
  const uint64_t total_;
  size_t bars_ = 0;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string FlameGraphSvg(const std::vector<FlameStack>& stacks, absl::string_view title) {
  Node all;
  for (const FlameStack& stack : stacks) {
    all.count += stack.count;
    Node* node = &all;
    for (size_t i = 0; i < std::min(stack.frames.size(), kMaxFlameDepth); ++i) {
      node = &node->calls[stack.frames[i]];
      node->count += stack.count;
    }
  }
  Drawing drawing(std::max<uint64_t>(1, all.count));
  if (all.count > 0) drawing.Add("all", all, kMargin, 0);
  return drawing.Finish(title);
}

}  // namespace lockstep
