// What the words of a layout mean ("tp8", "zero1", "ga16"), for those who read a table of them the first time.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

// Explains the words that occur in these layouts, as `describe` writes them: "dpN: N replicas, ...; gaN: ...".
std::string layout_legend(const std::vector<std::string>& layouts);

}  // namespace trainyard
