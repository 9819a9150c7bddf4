// The Error that a call throws, for tests that look at its parts.
#pragma once

#include <gtest/gtest.h>

#include "core/error.h"

namespace trainyard {

template <class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error("nothing", "nowhere");
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace trainyard
