#include "config/words.hpp"

#include <algorithm>
#include <vector>

namespace ratel {
namespace {

constexpr size_t kMaxExcerpt = 48;

/// How many bytes the UTF-8 character at the start of `text` has; 0 when there is none that can be shown.
size_t CharacterLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  const bool control = first == 0xC2 && second < 0xA0;
  return overlong || beyond || control ? 0 : length;
}

void AppendEscape(char c, std::string& out) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\x") += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Where::Text() const {
  std::string text = parent == nullptr ? std::string() : parent->Text();
  switch (step) {
    case Step::kRoot:
      text = key;
      break;
    case Step::kKey:
      if (!text.empty()) text += '.';
      text += key;
      break;
    case Step::kIndex:
      text.append("[").append(std::to_string(index)).append("]");
      break;
    case Step::kEntry:
      text.append("[").append(Quote(key)).append("]");
      break;
  }
  return text;
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  const std::string_view shown = text.substr(0, kMaxExcerpt);
  for (size_t i = 0; i < shown.size();) {
    const size_t length = CharacterLength(text.substr(i));
    if (length == 0) {
      AppendEscape(shown[i++], quoted);
      continue;
    }
    if (shown[i] == '"' || shown[i] == '\\') quoted += '\\';
    quoted.append(text, i, length);
    i += length;
  }
  quoted += shown.size() < text.size() ? "...\"" : "\"";
  return quoted;
}

std::string DidYouMean(std::string_view text, std::span<const std::string_view> words) {
  if (text.size() > 64) return {};
  std::string_view nearest;
  size_t best = std::min<size_t>(2, text.size() / 2) + 1;
  for (const std::string_view word : words) {
    const size_t distance = EditDistance(text, word);
    if (distance < best) {
      best = distance;
      nearest = word;
    }
  }
  return nearest.empty() ? std::string() : " (did you mean " + Quote(nearest) + "?)";
}

std::string OneOf(std::span<const std::string_view> words) {
  if (words.size() < 2) return List(words);
  return List(words.first(words.size() - 1)).append(" or ").append(words.back());
}

std::string List(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return list;
}

}  // namespace ratel
