// A layout as `plan` writes it, read back: "tp8 pp16 dp128 sp zero1 interleaved v4 mbs1 ga16".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/layout/layout.h"

namespace trainyard {

std::string layout_text(const Layout& layout);  // without types

// What a word of the text is about, of which a layout has one word at most: "tp" of "tp4", "recompute" of
// "recompute-full", "layers" of "layers-2,3", "cp kind" of "cp-ring", "rank order" of "tp-cp-ep-dp-pp". Of a schedule's
// name nothing: it goes with "pp". A word without a value, such as "sp", is about itself.
std::string word_subject(std::string_view word);

// What the text leaves out is as in `base`; a degree left out is 1, dp what the ranks leave, and accumulation what the
// batch leaves. Throws Error naming `flag` and the word that isn't understood.
Layout parse_layout(const std::string& text, const std::string& flag, const Layout& base, std::int64_t ranks,
                    std::int64_t global_batch);

}  // namespace trainyard
