#include "config/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;
using testing::expect_bad_input;

TEST(ResolvePath, IsAbsoluteAndShort) {
  EXPECT_EQ(resolve_path("a/b", "/x/y", "key"), "/x/y/a/b");
  EXPECT_EQ(resolve_path("../a/./b/", "/x/y", "key"), "/x/a/b");
  EXPECT_EQ(resolve_path("/a//b", "/x/y", "key"), "/a/b");
  EXPECT_EQ(resolve_path("../../../a", "/x", "key"), "/a");
  EXPECT_EQ(resolve_path("", "/x", "key"), "");
  EXPECT_EQ(resolve_path("a", "", "key"), (fs::current_path() / "a").string());
  EXPECT_EQ(resolve_path("a", "sub", "key"), (fs::current_path() / "sub/a").string());
}

// The folder above a link's target is not the one that the link is in.
TEST(ResolvePath, DoesNotFoldLinksAway) {
  const testing::TempFolder folder;
  fs::create_directories(folder / "far/away");
  fs::create_directory_symlink(folder / "far/away", folder / "link");
  EXPECT_EQ(resolve_path("link/../a", folder.path(), "key"), folder / "link/../a");
}

TEST(ResolvePath, KnowsTheHomeDirectory) {
  const char* home = std::getenv("HOME");
  const std::string before = home ? home : "";
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(resolve_path("~/runs/a", "/x", "key"), "/home/me/runs/a");
  EXPECT_EQ(resolve_path("~", "/x", "key"), "/home/me");
  EXPECT_EQ(resolve_path("a/~", "/x", "key"), "/x/a/~");
  EXPECT_EQ(resolve_path("./~b", "/x", "key"), "/x/~b");
  expect_bad_input({"--out", "~you/a", "'./~you/a'"},
                   [] { resolve_path("~you/a", "/x", "--out"); });
  unsetenv("HOME");
  expect_bad_input({"--out", "HOME"}, [] { resolve_path("~/a", "/x", "--out"); });
  setenv("HOME", before.c_str(), 1);
}

TEST(ResolvePath, RefusesBytesThatNoJsonFileHolds) {
  expect_bad_input({"key", "caf\\xe9/a", "UTF-8"}, [] { resolve_path("caf\xe9/a", "/x", "key"); });
  expect_bad_input({"key", "/caf\\xe9", "UTF-8"}, [] { resolve_path("a", "/caf\xe9", "key"); });
  EXPECT_EQ(resolve_path("café", "/x", "key"), "/x/café");
}

TEST(Printable, EscapesWhatATerminalCannotShow) {
  EXPECT_EQ(printable("naïve"), "naïve");
  EXPECT_EQ(printable("na\xefve\n"), "na\\xefve\\x0a");
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
}

}  // namespace
}  // namespace dashlm
