#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/expect_error.h"
#include "base/temp_folder.h"

namespace dashlm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TempFolder;

class Log : public ::testing::Test {
 protected:
  void TearDown() override { spdlog::set_default_logger(before_); }

  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  TempFolder folder_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(Log, FileGetsMessagesAtOnceAndIsAppendedTo) {
  const std::string path = folder_ / "log.txt";
  init_logging(false);
  log_to_file(path);
  spdlog::info("first {}", 1);
  EXPECT_THAT(read(path), HasSubstr("info first 1"));
  init_logging(false);
  log_to_file(path);
  spdlog::warn("second");
  EXPECT_THAT(read(path), HasSubstr("info first 1"));
  EXPECT_THAT(read(path), HasSubstr("warning second"));
}

TEST_F(Log, QuietKeepsWarningsAndErrors) {
  const std::string path = folder_ / "log.txt";
  init_logging(true);
  log_to_file(path);
  spdlog::info("chatter");
  spdlog::warn("careful");
  spdlog::error("broken");
  EXPECT_THAT(read(path), Not(HasSubstr("chatter")));
  EXPECT_THAT(read(path), HasSubstr("careful"));
  EXPECT_THAT(read(path), HasSubstr("broken"));
}

TEST_F(Log, AFileThatCannotBeOpenedIsNamed) {
  init_logging(false);
  testing::expect_runtime_failure({folder_.path()}, [&] { log_to_file(folder_.path()); });
}

}  // namespace
}  // namespace dashlm
