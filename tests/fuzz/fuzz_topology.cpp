// Detection and everything behind it, our own JSON included; and, for a file that describes one host or a fabric,
// what combine() makes of it.
#include "core/import/combine.h"
#include "core/import/import_topology.h"
#include "tests/fuzz/fuzz_import.h"

namespace {

using trainyard::Cluster;

trainyard::Cluster import_and_combine(std::string_view text, const std::string& where) {
  Cluster cluster = trainyard::import_topology(text, where);
  if (cluster.vertices().size() > trainyard::kLargestRoundTrip) {
    return cluster;
  }
  if (!cluster.gpus().empty()) {
    const std::string_view fabric =
        "Switch 2 \"S\"\n[1] \"A\"[1] # 4xNDR\n[2] \"B\"[1] # 4xNDR\n"
        "Ca 1 \"A\" # \"a mlx5_0\"\n[1] \"S\"[1]\nCa 1 \"B\" # \"b mlx5_0\"\n[1] \"S\"[2]\n";
    return trainyard::combine(cluster, trainyard::import_topology(fabric, where), where);
  }
  const std::string_view node =
      "<system><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x030200\"/>"
      "<pci busid=\"2\" class=\"0x020700\"><nic><net name=\"mlx5_0\" speed=\"400000\"/></nic></pci></cpu></system>";
  return trainyard::combine(trainyard::import_topology(node, where), cluster, where);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return trainyard::fuzz_import(import_and_combine, data, size);
}
