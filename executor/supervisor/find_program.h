// find_program: a program by its name, as a shell finds it.
#pragma once

#include <optional>
#include <string>

namespace trainyard::executor {

// A name with a slash is itself; another one is looked for in the folders of `path`, which colons separate. Nothing
// where no folder has an executable file of that name.
std::optional<std::string> find_program(const std::string& name, const std::string& path);

// The environment's PATH; empty where there is none.
std::string search_path();

}  // namespace trainyard::executor
