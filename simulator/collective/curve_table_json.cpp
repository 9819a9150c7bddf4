#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/document/json_document.h"
#include "simulator/collective/curve_table.h"

namespace trainyard::simulator {

namespace {

using nlohmann::ordered_json;

// Four significant digits: more would say more than the curves do, and would change with the compiler.
double rounded(double value) {
  return ordered_json::parse([&] {
           std::array<char, 32> text{};
           std::snprintf(text.data(), text.size(), "%.4g", value);
           return std::string(text.data());
         }())
      .get<double>();
}

ordered_json to_json(const CurveConstants& constants) {
  ordered_json object;
  object["floor_s"] = rounded(constants.floor_s);
  object["hop_s"] = rounded(constants.hop_s);
  object["fill_s"] = rounded(constants.fill_s);
  object["fill_bytes"] = rounded(constants.fill_bytes);
  object["bandwidth"] = rounded(constants.bandwidth);
  return object;
}

CurveConstants read_constants(ObjectReader reader) {
  CurveConstants constants;
  constants.floor_s = reader.number("floor_s", 1e-9, 10.0);
  constants.hop_s = reader.number("hop_s", 0.0, 10.0);
  constants.fill_s = reader.number("fill_s", 0.0, 10.0);
  constants.fill_bytes = reader.number("fill_bytes", 1e-3, 1e15);
  constants.bandwidth = reader.number("bandwidth", 1e-3, 10.0);
  reader.finish();
  return constants;
}

ordered_json to_json(const Bands& bands) {
  ordered_json array = ordered_json::array();
  for (const double band : bands) {
    array.push_back(rounded(band));
  }
  return array;
}

Bands read_bands(ObjectReader& reader, const char* key) {
  const std::vector<double> values = reader.numbers(key);
  if (values.size() != kBands ||
      std::any_of(values.begin(), values.end(), [](double v) { return !(v > 0.0 && v < 10.0); })) {
    reader.fail(key, "must be " + std::to_string(kBands) + " numbers above 0 and below 10",
                "one for each range of sizes");
  }
  Bands bands{};
  std::copy(values.begin(), values.end(), bands.begin());
  return bands;
}

}  // namespace

CurveTable parse_curve_table(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("collective_curves", 1);
  CurveTable table;
  root.text("provenance");
  table.sharpness = root.number("sharpness", 1.0, 100.0);
  table.framework_floor = root.number("framework_floor", 0.1, 100.0);
  table.same_source = read_bands(root, "same_source_band");
  table.same_class = read_bands(root, "same_class_band");
  table.borrowed = read_bands(root, "borrowed_band");
  root.for_each_object("families", [&](ObjectReader& entry) {
    const std::string name = entry.text("family");
    table.families[name] = read_constants(entry.object("constants"));
  });
  root.for_each_object("classes", [&](ObjectReader& entry) {
    ClassCurve& curve = table.classes[entry.text("class")];
    curve.family = entry.text("family");
    if (!table.families.contains(curve.family)) {
      entry.fail("family", "is not one of the families");
    }
    curve.constants = read_constants(entry.object("constants"));
    curve.points = entry.small_integer("points", 1);
    curve.band = read_bands(entry, "band");
    curve.sources = entry.texts("sources");
    curve.series = entry.texts("series");
  });
  root.finish();
  return table;
}

std::string curve_table_text(const CurveTable& table, const std::string& provenance) {
  ordered_json root;
  root["document"] = "collective_curves";
  root["schema"] = 1;
  root["provenance"] = provenance;
  root["sharpness"] = rounded(table.sharpness);
  root["framework_floor"] = rounded(table.framework_floor);
  root["same_source_band"] = to_json(table.same_source);
  root["same_class_band"] = to_json(table.same_class);
  root["borrowed_band"] = to_json(table.borrowed);
  root["families"] = ordered_json::array();
  for (const auto& [name, constants] : table.families) {
    root["families"].push_back({{"family", name}, {"constants", to_json(constants)}});
  }
  root["classes"] = ordered_json::array();
  for (const auto& [name, curve] : table.classes) {
    ordered_json entry;
    entry["class"] = name;
    entry["family"] = curve.family;
    entry["constants"] = to_json(curve.constants);
    entry["points"] = curve.points;
    entry["band"] = to_json(curve.band);
    entry["sources"] = curve.sources;
    entry["series"] = curve.series;
    root["classes"].push_back(std::move(entry));
  }
  return root.dump(2) + "\n";
}

}  // namespace trainyard::simulator
