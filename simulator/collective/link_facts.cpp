#include "simulator/collective/link_facts.h"

#include "core/document/json_document.h"

namespace trainyard::simulator {

namespace {

template <class T>
std::optional<T> optional_sourced(ObjectReader& reader, const char* key,
                                  T (*read)(ObjectReader& value, const char* key)) {
  std::optional<ObjectReader> value = reader.optional_object(key);
  if (!value) {
    return std::nullopt;
  }
  const T result = read(*value, "value");
  if (value->text("source").empty()) {
    value->fail("source", "is empty", "say where the number is from");
  }
  value->finish();
  return result;
}

BytesPerSecond rate(ObjectReader& reader, const char* key) { return reader.quantity<BytesPerSecond>(key); }
int whole(ObjectReader& reader, const char* key) { return reader.small_integer(key, 1, 1 << 20); }
double factor(ObjectReader& reader, const char* key) { return reader.number(key, 0.0, 16.0); }

template <class T>
T sourced(ObjectReader& reader, const char* key, T (*read)(ObjectReader& value, const char* key)) {
  const std::optional<T> value = optional_sourced(reader, key, read);
  if (!value) {
    reader.fail(key, "is missing");
  }
  return *value;
}

GenerationLinks read_generation(ObjectReader reader) {
  GenerationLinks links;
  links.links = optional_sourced(reader, "links", rate).value_or(BytesPerSecond());
  links.ring = optional_sourced(reader, "ring", rate);
  links.pcie = optional_sourced(reader, "pcie", rate);
  links.nvls = optional_sourced(reader, "nvls", rate);
  links.nvls_cap = optional_sourced(reader, "nvls_cap", rate);
  links.nvls_from = optional_sourced(reader, "nvls_from", whole).value_or(0);
  links.ring_share = optional_sourced(reader, "ring_share", factor).value_or(1.0);
  links.pair = optional_sourced(reader, "pair", factor).value_or(1.0);
  if (links.links.si() <= 0.0 && !(links.ring && links.pcie)) {
    reader.fail("links", "is missing, and so are ring and pcie");
  }
  reader.finish();
  return links;
}

}  // namespace

LinkFacts parse_link_facts(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("collective_links", 1);
  LinkFacts facts;
  ObjectReader generations = root.object("generations");
  for (int g = 0; g < kGpuGenerations; ++g) {
    facts.generations.at(static_cast<std::size_t>(g)) =
        read_generation(generations.object(to_string(static_cast<GpuGeneration>(g))));
  }
  generations.finish();
  ObjectReader channel = root.object("channel");
  for (int p = 0; p < kNcclProtocols; ++p) {
    const std::string name(to_string(static_cast<NcclProtocol>(p)));
    facts.channel.at(static_cast<std::size_t>(p)) = sourced(channel, name.c_str(), rate);
  }
  channel.finish();
  facts.channel_limit = sourced(root, "channel_limit", whole);
  facts.tree_in_node = sourced(root, "tree_in_node", factor);
  facts.two_nodes = sourced(root, "two_nodes", factor);
  facts.three_nodes = sourced(root, "three_nodes", factor);
  facts.sharp = sourced(root, "sharp", factor);
  facts.domain_ring = sourced(root, "domain_ring", rate);
  root.finish();
  return facts;
}

}  // namespace trainyard::simulator
