// Expectations on dashlm::Error.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace dashlm::testing {

// Calls `body`, which must throw an Error with this code whose message contains every one of
// `parts`. Returns the message.
template <class Body>
std::string expect_error(ExitCode code, const std::vector<std::string>& parts, const Body& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.code()), static_cast<int>(code)) << e.what();
    for (const std::string& part : parts) EXPECT_THAT(e.what(), ::testing::HasSubstr(part));
    return e.what();
  }
  ADD_FAILURE() << "no dashlm::Error was thrown";
  return "";
}

template <class Body>
std::string expect_bad_input(const std::vector<std::string>& parts, const Body& body) {
  return expect_error(ExitCode::bad_input, parts, body);
}

template <class Body>
std::string expect_runtime_failure(const std::vector<std::string>& parts, const Body& body) {
  return expect_error(ExitCode::runtime_failure, parts, body);
}

}  // namespace dashlm::testing
