#include "core/import/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/import/limits.h"
#include "core/import/text_lines.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& where) : where_(where) {}
  YamlValue take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    reject_anchor(mark, anchor);
    add(mark, YamlValue::Kind::kNull, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { fail(mark, "an alias (*name)"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    reject_anchor(mark, anchor);
    reject_tag(mark, tag);
    add(mark, YamlValue::Kind::kScalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    reject_anchor(mark, anchor);
    reject_tag(mark, tag);
    open(mark, YamlValue::Kind::kSequence);
  }
  void OnSequenceEnd() override { levels_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    reject_anchor(mark, anchor);
    reject_tag(mark, tag);
    open(mark, YamlValue::Kind::kMap);
  }
  void OnMapEnd() override { levels_.pop_back(); }

 private:
  struct Level {
    YamlValue* value;
    bool expects_key = true;
    std::set<std::string> keys;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
    throw Error(what + " is not taken here", at_line(where_, line_of(mark)), "write the value out");
  }
  void reject_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) {
      fail(mark, "an anchor (&name)");
    }
  }
  // "?" is no tag on a plain scalar or collection, "!" none on a quoted one.
  void reject_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(mark, "a tag (" + quote(tag) + ")");
    }
  }
  static std::size_t line_of(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.line, 0)) + 1; }

  void open(const YAML::Mark& mark, YamlValue::Kind kind) {
    if (std::ssize(levels_) >= kTreeDepthLimit) {
      throw Error("nested deeper than " + std::to_string(kTreeDepthLimit) + " levels", at_line(where_, line_of(mark)));
    }
    levels_.push_back({add(mark, kind, {}), true, {}});
  }

  // A parent's vector doesn't grow while one of its items is open, so pointers to open values stay good.
  YamlValue* add(const YAML::Mark& mark, YamlValue::Kind kind, const std::string& text) {
    if (++values_ > kTreeElementLimit) {
      throw Error("has more than " + std::to_string(kTreeElementLimit) + " values", where_);
    }
    YamlValue value{.kind = kind, .line = line_of(mark), .text = text};
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.value->kind == YamlValue::Kind::kMap && level.expects_key) {
      add_key(level, value);
      return nullptr;
    }
    level.expects_key = true;
    return &level.value->items.emplace_back(std::move(value));
  }

  void add_key(Level& level, const YamlValue& key) const {
    if (key.kind != YamlValue::Kind::kScalar) {
      throw Error("a key that isn't text", at_line(where_, key.line));
    }
    if (!level.keys.insert(key.text).second) {
      throw Error("key " + quote(key.text) + " is given twice", at_line(where_, key.line));
    }
    level.value->keys.push_back(key.text);
    level.expects_key = false;
  }

  const std::string& where_;
  YamlValue root_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
};

}  // namespace

const YamlValue* YamlValue::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

YamlValue parse_yaml(std::string_view text, const std::string& where) {
  if (text.size() > kTreeFileLimit) {
    throw Error("is larger than " + format_quantity(ByteCount(static_cast<std::int64_t>(kTreeFileLimit))), where);
  }
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(where);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& problem) {
    const auto line = static_cast<std::size_t>(std::max(problem.mark.line, 0)) + 1;
    throw Error("not YAML: " + problem.msg, at_line(where, line));
  }
  return builder.take();
}

}  // namespace trainyard
