// What a program said as it ended.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/process.h"

namespace dashlm::testing {

// It ended with this code, and its messages hold each of the words.
inline void expect_words(const ProcessResult& result, int exit_code,
                         const std::vector<std::string>& words) {
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  for (const std::string& word : words) {
    EXPECT_NE(result.errors.find(word), std::string::npos)
        << "'" << word << "' is missing in: " << result.errors;
  }
}

}  // namespace dashlm::testing
