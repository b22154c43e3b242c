#include "base/error.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace dashlm {
namespace {

using testing::expect_bad_input;
using testing::expect_runtime_failure;

TEST(Error, CarriesCodeAndMessage) {
  EXPECT_EQ(expect_bad_input({}, [] { fail_input("key {} is {}", "lr", -1); }), "key lr is -1");
  EXPECT_EQ(expect_runtime_failure({}, [] { fail_runtime("{:.1f} GB", 2.5); }), "2.5 GB");
  const Error diverged(ExitCode::diverged, "loss is nan");
  EXPECT_EQ(diverged.code(), ExitCode::diverged);
  EXPECT_STREQ(diverged.what(), "loss is nan");
}

TEST(Error, RequireThrowsOnlyWhenFalse) {
  EXPECT_NO_THROW(require(true, "no"));
  EXPECT_EQ(expect_bad_input({}, [] { require(false, "{} of {}", 3, 4); }), "3 of 4");
}

TEST(Error, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(static_cast<int>(ExitCode::done), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::bad_input), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::runtime_failure), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::diverged), 3);
}

// Braces of what is inserted are not placeholders.
TEST(Error, InsertedBracesAreText) {
  EXPECT_EQ(expect_bad_input({}, [] { fail_input("{}", "{} {0} {{"); }), "{} {0} {{");
}

}  // namespace
}  // namespace dashlm
