// The script of `trainyard collect`, run by sh with tools of the test's own in front of the path.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/command.h"

namespace trainyard::cli {
namespace {

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class Collect : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_command({"collect", "--output", folder_.file("collect.sh")}).exit_code, 0);
    std::filesystem::create_directory(folder_.path() / "bin");
  }

  void add_tool(const std::string& name, const std::string& body) const {
    const std::string tool = folder_.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    ASSERT_EQ(::chmod(tool.c_str(), 0755), 0);
  }

  int run() const {
    const std::string root = folder_.path().string();
    const std::string command =
        "cd " + root + " && PATH=" + root + "/bin:$PATH SYSFS=" + root + "/sys sh collect.sh out >said 2>&1";
    return std::system(command.c_str());  // NOLINT(cert-env33-c): the script is what is tested
  }

  TemporaryFolder folder_;
};

TEST_F(Collect, PrintsTheScriptThatItWrites) {
  EXPECT_EQ(run_command({"collect"}).out, text_of(folder_.file("collect.sh")));
  EXPECT_EQ(parse_output(run_command({"collect", "--json"}))["script"].get<std::string>(),
            text_of(folder_.file("collect.sh")));
}

TEST_F(Collect, KeepsWhatTheToolsSayAndNamesWhatIsMissing) {
  add_tool("nvidia-smi",
           "case $1 in -L) echo 'GPU 0: NVIDIA H100 (UUID: x)';; topo) echo '  GPU0 CPU Affinity';; esac");
  add_tool("ibnetdiscover", "echo 'Switch 2 \"S\"'");
  add_tool("ibstat", "echo broken >&2; exit 1");
  add_tool("all_reduce_perf", "echo '<system version=\"1\"/>' >\"$NCCL_TOPO_DUMP_FILE\"");
  add_tool("scontrol", "[ \"$1 $2\" = 'show topology' ] && echo SwitchName=a Nodes=b");
  const std::string device = (folder_.path() / "sys/bus/pci/devices/0000:01:00.0").string();
  std::filesystem::create_directories(device);
  std::ofstream(device + "/class") << "0x030200\n";
  std::ofstream(device + "/current_link_speed") << "16.0 GT/s PCIe\n";
  EXPECT_EQ(run(), 0);
  const std::string said = text_of(folder_.file("said"));
  EXPECT_EQ(text_of(folder_.file("out/nvidia-smi-topo.txt")), "GPU 0: NVIDIA H100 (UUID: x)\n  GPU0 CPU Affinity\n");
  EXPECT_EQ(text_of(folder_.file("out/ibnetdiscover.txt")), "Switch 2 \"S\"\n");
  EXPECT_EQ(text_of(folder_.file("out/nccl-topo.xml")), "<system version=\"1\"/>\n");
  EXPECT_EQ(text_of(folder_.file("out/slurm-topology.txt")), "SwitchName=a Nodes=b\n");
  EXPECT_NE(text_of(folder_.file("out/pci.txt")).find("0000:01:00.0 0x030200 - - \"16.0 GT/s PCIe\" -"),
            std::string::npos);
  EXPECT_NE(said.find("ibstat.txt: ibstat gave nothing"), std::string::npos) << said;
  EXPECT_NE(text_of(folder_.file("out/errors.txt")).find("broken\ncollect: ibstat ended with 1\n"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out.tar"));
}

// A tool that hangs or dies must not end the script: whatever a node lacks, the rest is gathered.
TEST_F(Collect, GoesOnWhereToolsFail) {
  for (const char* tool : {"nvidia-smi", "ibnetdiscover", "ibstat", "scontrol", "lspci", "lstopo-no-graphics",
                           "python3", "rocm-smi", "tar"}) {
    add_tool(tool, "exit 3");
  }
  EXPECT_EQ(run(), 0);
  EXPECT_NE(text_of(folder_.file("out/missing.txt")).find("nvidia-smi failed"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out/ports.txt"));
}

}  // namespace
}  // namespace trainyard::cli
