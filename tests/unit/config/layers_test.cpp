// Which layer of a config is blamed, which keys another type drops, and where paths start from.
#include "config/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/known_keys.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace dashlm {

enum class Method { newton, evd };
template <>
struct EnumNames<Method> {
  static constexpr std::pair<Method, const char*> names[] = {{Method::newton, "newton"},
                                                             {Method::evd, "evd"}};
};

namespace {

using ::testing::ElementsAre;
using testing::expect_bad_input;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Root {
  Method method = Method::newton;
  int64_t steps = 10, ridge = 0;
  bool shift = false;
  void describe(Schema& s) {
    s.field("type", method, "method");
    if (method == Method::newton) s.field("steps", steps, "of the iteration", {1});
    if (method == Method::evd) s.field("shift", shift, "whether to shift");
    s.field("ridge", ridge, "of both");
  }
};

struct Settings {
  std::string out;
  std::vector<std::string> files;
  int64_t batch = 1;
  Root root;
  void describe(Schema& s) {
    s.path("out", out, "a folder");
    s.path("files", files, "patterns");
    s.field("batch", batch, "size", {1});
    s.section("root", root, "the root");
  }
};

class Layers : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  Settings read(const std::string& name, const std::vector<std::string>& overrides = {}) {
    ConfigLayers layers = load_config_layers(folder_ / name);
    apply_overrides(layers, overrides);
    Settings settings;
    read_config(
        layers, [&](Schema& s) { settings.describe(s); },
        [](Schema& s) { Settings().describe(s); });
    notes_ = layers.notes;
    return settings;
  }
  void expect_blame(const std::vector<std::string>& parts, const std::string& name,
                    const std::vector<std::string>& overrides = {}) {
    expect_bad_input(parts, [&] { read(name, overrides); });
  }

  testing::TempFolder folder_;
  std::vector<std::string> notes_;
};

TEST_F(Layers, ErrorsBlameTheLayerThatHoldsTheKey) {
  const std::string base =
      put("base.json", "{\n  \"batch\": 2,\n  \"root\": {\n    \"step\": 3}\n}");
  put("main.json", R"({"extends": "base.json", "batch": 3})");
  expect_blame({base + ":4: unknown key \"root.step\"; did you mean root.steps?"}, "main.json");
  put("base.json", "{\n\"batch\": 0}");
  put("child.json", R"({"extends": "base.json"})");
  expect_blame({base + ":2: \"batch\" is 0, but must be at least 1"}, "child.json");
  put("base.json", "{\n\n\"batch\": \"x\", \"root\": 3}");
  expect_blame({base + ":3: \"batch\" must be an integer"}, "child.json");
  put("base.json", "{\n\n\"root\": {\"type\": \"evdd\"}}");
  expect_blame({base + ":3: \"root.type\" is \"evdd\"", "did you mean evd?"}, "child.json");
  put("base.json", "{}");
  expect_blame({"--set 'btch=1': unknown key \"btch\"; did you mean batch?"}, "child.json",
               {"btch=1"});
  expect_blame({"--set 'root={\"ste\": 1}': unknown key \"root.ste\""}, "child.json",
               {"root={\"ste\": 1}"});
  EXPECT_EQ(read("main.json").batch, 3);
}

TEST_F(Layers, AKeyOfAnotherTypeInTheSameLayerIsAnError) {
  const std::string file = put("a.json", "{\"root\": {\"type\": \"evd\",\n \"steps\": 3}}");
  expect_blame({file + ":2: \"root.steps\" is a key of root.type \"newton\", not of \"evd\""},
               "a.json");
  put("b.json", "{\"root\": {\"shift\": true}}");
  expect_blame({"\"root.shift\" is a key of root.type \"evd\"", "not the default"}, "b.json");
  put("c.json", "{}");
  expect_blame({"--set 'root.steps=3'", "not of \"evd\""}, "c.json",
               {"root.type=evd", "root.steps=3"});
}

TEST_F(Layers, AnotherTypeDropsTheKeysOfTheLayersBefore) {
  const std::string file = put("a.json", R"({"root": {"type": "newton", "steps": 3, "ridge": 4}})");
  const Settings changed = read("a.json", {"root.type=evd", "root.shift=true"});
  EXPECT_EQ(changed.root.method, Method::evd);
  EXPECT_EQ(changed.root.ridge, 0);
  EXPECT_TRUE(changed.root.shift);
  ASSERT_EQ(notes_.size(), 1u);
  for (const char* part : {"--set 'root.type=evd'", "\"newton\"", "steps, ridge"}) {
    EXPECT_THAT(notes_[0], HasSubstr(part));
  }
  EXPECT_THAT(notes_[0], HasSubstr(file + ":1"));
  EXPECT_EQ(read("a.json", {"root.type=newton"}).root.steps, 3);
  EXPECT_THAT(notes_, IsEmpty());
  put("child.json", R"({"extends": "a.json", "root": {"type": "evd"}})");
  read("child.json");
  EXPECT_EQ(notes_.size(), 1u);
}

// The file leaves the type to the default, so its keys are anybody's that has them.
TEST_F(Layers, AnotherTypeThanTheDefaultDropsTheKeysItHasNot) {
  put("a.json", R"({"root": {"steps": 3, "ridge": 4}})");
  const Settings changed = read("a.json", {"root.type=evd"});
  EXPECT_EQ(changed.root.ridge, 4);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("drops root.steps"));
  put("a.json", R"({"root": {"stepz": 3}})");
  expect_blame({"unknown key \"root.stepz\""}, "a.json", {"root.type=evd"});
}

TEST_F(Layers, PathsOfAFileStartFromItsFolder) {
  put("base/base.json", R"({"files": ["x_*.bin", "../y.bin", "/abs/z.bin"]})");
  put("main.json", R"({"extends": "base/base.json", "out": "runs/a/"})");
  const Settings settings = read("main.json");
  EXPECT_EQ(settings.out, folder_ / "runs/a");
  EXPECT_THAT(settings.files,
              ElementsAre(folder_ / "base/x_*.bin", folder_ / "y.bin", "/abs/z.bin"));
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(read("main.json", {"out=runs/b"}).out, here + "/runs/b");
  EXPECT_EQ(read("main.json", {"files=[\"c.bin\"]"}).files[0], here + "/c.bin");
  EXPECT_EQ(read("main.json", {"out="}).out, "");
}

TEST_F(Layers, AFolderWithCharactersOfPatternsIsNoPattern) {
  put("a[1]/main.json", R"({"files": ["x_*.bin", "y.bin"], "out": "z"})");
  const Settings settings = read("a[1]/main.json");
  EXPECT_THAT(settings.files, ElementsAre(folder_ / "a[[]1]/x_*.bin", folder_ / "a[1]/y.bin"));
  EXPECT_EQ(settings.out, folder_ / "a[1]/z");
}

TEST(KnownKeys, TellTypesApart) {
  const KnownKeys known = known_keys([](Schema& s) { Settings().describe(s); });
  EXPECT_THAT(known.at("batch"), IsEmpty());
  EXPECT_THAT(known.at("root"), IsEmpty());
  EXPECT_THAT(known.at("root.steps"), ElementsAre("newton"));
  EXPECT_THAT(known.at("root.shift"), ElementsAre("evd"));
  EXPECT_EQ(known.at("root.ridge").size(), 2u);
}

}  // namespace
}  // namespace dashlm
