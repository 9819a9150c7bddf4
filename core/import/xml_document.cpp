#include "core/import/xml_document.h"

#include <algorithm>

#include "core/error.h"
#include "core/import/limits.h"
#include "core/import/text_lines.h"
#include "core/units/format_quantity.h"

namespace trainyard {

XmlDocument::XmlDocument(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {
  if (text.size() > kTreeFileLimit) {
    throw Error("is larger than " + format_quantity(ByteCount(static_cast<std::int64_t>(kTreeFileLimit))), where_,
                "a node's topology takes less than 1 MiB");
  }
  if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '<')) > kTreeElementLimit) {
    throw Error("has more than " + std::to_string(kTreeElementLimit) + " elements", where_);
  }
  const pugi::xml_parse_result parsed =
      document_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0));
    throw Error(std::string("not XML: ") + parsed.description(), at_line(where_, line_of_offset(text_, offset)),
                "was the file cut short?");
  }
  check_shape();
}

void XmlDocument::check_shape() const {
  if (!root()) {
    throw Error("holds no XML element", where_);
  }
  int depth = 0;
  pugi::xml_node element = root();
  while (element) {
    if (const pugi::xml_node child = element.first_child()) {
      element = child;
      if (++depth > kTreeDepthLimit) {
        fail(element.parent(), "nested deeper than " + std::to_string(kTreeDepthLimit) + " levels");
      }
      continue;
    }
    while (element && element != root() && !element.next_sibling()) {
      element = element.parent();
      --depth;
    }
    element = element == root() ? pugi::xml_node() : element.next_sibling();
  }
}

std::string XmlDocument::where(pugi::xml_node element) const {
  const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(element.offset_debug(), 0));
  return at_line(where_, line_of_offset(text_, offset)) + ", <" + element.name() + ">";
}

void XmlDocument::fail(pugi::xml_node element, const std::string& what, const std::string& hint) const {
  throw Error(what, where(element), hint);
}

std::optional<std::int32_t> XmlDocument::whole(pugi::xml_node element, const char* attribute, std::int32_t lowest,
                                               std::int32_t highest) const {
  const pugi::xml_attribute given = element.attribute(attribute);
  if (!given) {
    return std::nullopt;
  }
  const auto value = whole_number(trimmed(given.as_string()), lowest, highest);
  if (!value) {
    fail(element, std::string(attribute) + "=" + quote(given.as_string()) + " is not a whole number from " +
                      std::to_string(lowest) + " to " + std::to_string(highest));
  }
  return static_cast<std::int32_t>(*value);
}

}  // namespace trainyard
