#include "tests/cli/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trainyard::cli {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void become(const std::vector<std::string>& arguments, int out, int err) {
  setpgid(0, 0);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  std::vector<char*> argv = {const_cast<char*>(TRAINYARD_EXECUTABLE)};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  execv(TRAINYARD_EXECUTABLE, argv.data());
  _exit(127);
}

// The third word after the command's name in /proc/PID/stat is the process group.
std::optional<pid_t> process_group(const std::filesystem::path& process) {
  std::ifstream in(process / "stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream rest(line.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  pid_t group = 0;
  rest >> state >> parent >> group;
  return state == 'Z' ? std::nullopt : std::optional<pid_t>(group);
}

}  // namespace

Command::Command(const std::vector<std::string>& arguments) : started_(Clock::now()) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  const pid_t forked = fork();
  if (forked == 0) {
    become(arguments, out[1], err[1]);
  }
  child_.emplace(forked, true);
  setpgid(forked, forked);  // both sides, so that it holds before either goes on
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Command::~Command() {
  close(out_);
  close(err_);
}

void Command::send_signal(int signal) const { kill(pid(), signal); }

void Command::read_outputs(CommandResult& result, Clock::time_point deadline) {
  std::array<pollfd, 2> files = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.out, &result.err};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      kill(-pid(), SIGKILL);
      return;
    }
    if (poll(files.data(), files.size(), static_cast<int>(left)) < 0) {
      continue;  // a signal: nothing has been looked at
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      if ((files[i].revents & (POLLIN | POLLHUP)) == 0) {
        continue;
      }
      std::array<char, 65536> bytes{};
      const ssize_t count = read(files[i].fd, bytes.data(), bytes.size());
      if (count == 0 || (count < 0 && errno != EINTR)) {
        files[i].fd = -1;
      } else if (count > 0) {
        texts[i]->append(bytes.data(), static_cast<std::size_t>(count));
      }
    }
  }
}

CommandResult Command::wait(std::chrono::seconds limit) {
  CommandResult result;
  read_outputs(result, Clock::now() + limit);
  const int status = child_->wait();
  result.elapsed = Clock::now() - started_;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::vector<pid_t> Command::group_members() const {
  std::vector<pid_t> members;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }) &&
        process_group(entry.path()) == pid()) {
      members.push_back(std::stoi(name));
    }
  }
  return members;
}

CommandResult run_command(const std::vector<std::string>& arguments) { return Command(arguments).wait(); }

nlohmann::json parse_output(const CommandResult& result) {
  auto object = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << "standard output isn't a JSON object:\n" << result.out << result.err;
  return object.is_object() ? object : nlohmann::json::object();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "trainyard-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("no temporary folder");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return file(name);
}

std::vector<std::string> TemporaryFolder::entries() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace trainyard::cli
