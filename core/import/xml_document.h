// XML of bounded size and depth: elements, their attributes, and the line an Error can name.
//
// pugixml reads no external files and expands no entities but the five that XML itself has. Too large, too many
// elements, too deep, malformed: an Error with its line. Not a public header: it shows pugixml.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace trainyard {

class XmlDocument {
 public:
  XmlDocument(std::string_view text, std::string where);  // the text must outlive it

  pugi::xml_node root() const { return document_.document_element(); }
  std::string where(pugi::xml_node element) const;  // "topo.xml: line 7, <pci>"
  [[noreturn]] void fail(pugi::xml_node element, const std::string& what, const std::string& hint = {}) const;

  static std::string_view text(pugi::xml_node element, const char* attribute) {
    return element.attribute(attribute).as_string();
  }
  // Absent where the attribute is; anything but a whole number in the range is an Error.
  std::optional<std::int32_t> whole(pugi::xml_node element, const char* attribute, std::int32_t lowest,
                                    std::int32_t highest) const;

 private:
  void check_shape() const;

  pugi::xml_document document_;
  std::string_view text_;
  std::string where_;
};

}  // namespace trainyard
