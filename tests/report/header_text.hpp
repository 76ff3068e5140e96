// A decision's header fields as a string.
#pragma once

#include <string>
#include <string_view>

#include "report/headers.hpp"

namespace ratel {

inline std::string HeaderText(const Decision& decision, std::string_view limit_name, uint32_t forms) {
  std::string text(DecisionHeaders(decision, limit_name, forms, {}), '\0');
  DecisionHeaders(decision, limit_name, forms, text);
  return text;
}

}  // namespace ratel
