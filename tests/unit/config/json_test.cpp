// Files, "extends" and overrides.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/layers.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace dashlm {
namespace {

using testing::expect_bad_input;

class LoadConfig : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Json load(const std::string& name) { return load_config_layers(folder_ / name).json; }

  testing::TempFolder folder_;
};

// --- syntax -------------------------------------------------------------------------------------

TEST(ParseJson, ErrorsGiveLineAndColumn) {
  expect_bad_input({"a.json:1:7: not valid JSON"}, [] { parse_json("{\"a\": }", "a.json"); });
  // The last character of the token that is wrong.
  expect_bad_input({"a.json:3:5: "}, [] { parse_json("{\n  \"a\": 1\n  \"b\": 2\n}", "a.json"); });
  expect_bad_input({"a.json:1:1: "}, [] { parse_json("", "a.json"); });
  expect_bad_input({"a.json:1:1: "}, [] { parse_json("]", "a.json"); });
  expect_bad_input({"a.json:2:1: "}, [] { parse_json("{\n", "a.json"); });
  expect_bad_input({"a.json:2:1: "}, [] { parse_json("{\n]", "a.json"); });
}

TEST(ParseJson, NumbersBeyondAnyTypeAreErrors) {
  const auto refused = [](const std::string& number, const std::string& after) {
    expect_bad_input({"a.json:2: " + number + " is too"},
                     [&] { parse_json("{\n\"a\": " + number + after, "a.json"); });
  };
  for (const char* after : {"}", "\n}", ", \"b\": 1}", " // c\n}"}) {
    refused("1e999", after);
    refused("-1e999", after);
    refused("1e-400", after);
    refused("-0.001e-999", after);
  }
  EXPECT_EQ(parse_json("{\"a\": 0e-999}", "a.json")["a"], 0.0);
  EXPECT_EQ(parse_json("[5e-324, 1e308, 0.0]", "a.json")[0], 5e-324);
}

TEST(ParseJson, AZeroByteIsNoEnd) {
  expect_bad_input({"a.json:2", "zero byte"},
                   [] { parse_json(std::string("{\n}\0garbage", 11), "a.json"); });
}

TEST(ParseJson, BottomlessNestingIsAnError) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "[";
  expect_bad_input({"a.json", "nested"}, [&] { parse_json(text, "a.json"); });
}

TEST(ParseJson, AKeyThatOccursTwiceIsAnError) {
  expect_bad_input({"here:1", "\"lr\"", "twice"},
                   [] { parse_json(R"({"train": {"lr": 1, "steps": 2, "lr": 3}})", "here"); });
  EXPECT_EQ(parse_json(R"([{"a": {"a": 1}}, {"a": 2}])", "here").size(), 2u);
}

TEST(ParseJson, CommentsAreAllowed) {
  EXPECT_EQ(parse_json("{/* a */ \"b\": 1 // c\n}", "a.json")["b"], 1);
}

TEST_F(LoadConfig, NamesTheFile) {
  expect_bad_input({folder_ / "none.json", "does not exist"}, [&] { load("none.json"); });
  expect_bad_input({folder_.path(), "not a file"}, [&] { load_config_layers(folder_.path()); });
  put("list.json", "[1]");
  expect_bad_input({folder_ / "list.json", "array"}, [&] { load("list.json"); });
  put("bad.json", "{\n  \"a\": 1,\n  b: 2\n}");
  expect_bad_input({folder_ / "bad.json:3:3:"}, [&] { load("bad.json"); });
}

// --- extends ------------------------------------------------------------------------------------

TEST_F(LoadConfig, AnObjectOfAnotherTypeIsReplaced) {
  put("base.json", R"({"o": {"type": "a", "x": 1}, "p": {"x": 1}})");
  put("other.json", R"({"extends": "base.json", "o": {"type": "b", "y": 2}, "p": {"type": "b"}})");
  EXPECT_EQ(load("other.json").dump(), R"({"o":{"type":"b","y":2},"p":{"x":1,"type":"b"}})");
  put("same.json", R"({"extends": "base.json", "o": {"type": "a", "y": 2}})");
  EXPECT_EQ(load("same.json")["o"].dump(), R"({"type":"a","x":1,"y":2})");
}

TEST_F(LoadConfig, OwnKeysWinOverExtendedOnes) {
  put("base/base.json", R"({"a": 1, "section": {"x": 1, "y": 2}, "list": [1, 2], "kept": 5})");
  put("main.json", R"({"extends": "base/base.json", "a": 2, "section": {"y": 3}, "list": [9]})");
  EXPECT_EQ(load("main.json"), Json::parse(R"(
      {"a": 2, "section": {"x": 1, "y": 3}, "list": [9], "kept": 5})"));
}

TEST_F(LoadConfig, LaterExtendedFilesWinOverEarlierOnes) {
  put("a.json", R"({"k": "a", "a": 1})");
  put("b.json", R"({"k": "b", "b": 1})");
  put("main.json", R"({"extends": ["a.json", "b.json"]})");
  EXPECT_EQ(load("main.json"), Json::parse(R"({"k": "b", "a": 1, "b": 1})"));
}

TEST_F(LoadConfig, ExtendsIsRelativeToTheFileThatSaysSo) {
  put("x/y/deep.json", R"({"extends": "../middle.json", "deep": 1})");
  put("x/middle.json", R"({"extends": "z/bottom.json", "middle": 1})");
  put("x/z/bottom.json", R"({"bottom": 1})");
  EXPECT_EQ(load("x/y/deep.json"), Json::parse(R"({"bottom": 1, "middle": 1, "deep": 1})"));
}

// Two ways to one file are no cycle.
TEST_F(LoadConfig, DiamondsAreAllowed) {
  put("base.json", R"({"base": 1})");
  put("a.json", R"({"extends": "base.json"})");
  put("b.json", R"({"extends": "base.json"})");
  put("main.json", R"({"extends": ["a.json", "b.json"]})");
  EXPECT_EQ(load("main.json"), Json::parse(R"({"base": 1})"));
}

TEST_F(LoadConfig, CyclesAreErrors) {
  put("self.json", R"({"extends": "./self.json"})");
  expect_bad_input({"self.json", "leads back"}, [&] { load("self.json"); });
  put("a.json", R"({"extends": "sub/b.json"})");
  put("sub/b.json", R"({"extends": "../a.json"})");
  expect_bad_input({"a.json", "leads back"}, [&] { load("a.json"); });
}

TEST_F(LoadConfig, BadExtendsAreErrors) {
  put("main.json", R"({"extends": "none.json"})");
  expect_bad_input({folder_ / "none.json", "does not exist"}, [&] { load("main.json"); });
  put("main.json", R"({"extends": 3})");
  expect_bad_input({folder_ / "main.json", "extends"}, [&] { load("main.json"); });
  put("main.json", R"({"extends": [3]})");
  expect_bad_input({folder_ / "main.json", "extends", "3"}, [&] { load("main.json"); });
}

// --- overrides ----------------------------------------------------------------------------------

Json with(const std::vector<std::string>& assignments,
          const std::string& json = R"({"a": {"b": 1}, "s": 2})") {
  ConfigLayers layers;
  layers.json = Json::parse(json);
  layers.layers = 1;
  apply_overrides(layers, assignments);
  return layers.json;
}
Json with(const char* assignment) {
  return with(std::vector<std::string>{assignment});
}

TEST(Override, ValuesAreJsonOrText) {
  EXPECT_EQ(with("a.b=0.5")["a"]["b"], 0.5);
  EXPECT_EQ(with("a.b=-3")["a"]["b"], -3);
  EXPECT_EQ(with("a.b=true")["a"]["b"], true);
  EXPECT_EQ(with("a.b=null")["a"]["b"], Json());
  EXPECT_EQ(with("a.b=[1,\"x\"]")["a"]["b"], Json::parse("[1,\"x\"]"));
  EXPECT_EQ(with("a=1e400x")["a"], "1e400x");
  EXPECT_EQ(with("s=2026-12-01")["s"], "2026-12-01");
  EXPECT_EQ(with("a.b=cosine")["a"]["b"], "cosine");
  EXPECT_EQ(with("a.b=\"7\"")["a"]["b"], "7");
  EXPECT_EQ(with("a.b=")["a"]["b"], "");
  EXPECT_EQ(with("a.b=x=y z")["a"]["b"], "x=y z");
  EXPECT_EQ(with("a.b=/data/a.bin")["a"]["b"], "/data/a.bin");
}

TEST(Override, ReachesNestedAndNewKeys) {
  EXPECT_EQ(with("a.c.d.e=1"), Json::parse(R"({"a": {"b": 1, "c": {"d": {"e": 1}}}, "s": 2})"));
  EXPECT_EQ(with("s.t=1")["s"], Json::parse(R"({"t": 1})"));
  EXPECT_EQ(with("new=1")["new"], 1);
  EXPECT_EQ(with({"x.y=1"}, "{}"), Json::parse(R"({"x": {"y": 1}})"));
}

TEST(Override, ObjectsAndListsAreReadAsInFiles) {
  expect_bad_input({"--set 'a={", "\"b\"", "twice"}, [&] { with(R"(a={"b": 1, "b": 2})"); });
  expect_bad_input({"--set 'a=[1'", "not valid JSON"}, [&] { with("a=[1"); });
}

TEST(Override, AnObjectIsMergedIntoItsSection) {
  EXPECT_EQ(with("a={\"c\":4}")["a"], Json::parse(R"({"b": 1, "c": 4})"));
  EXPECT_EQ(with({"a={\"c\":4}", "a={\"d\":5}", "a.c=6"})["a"],
            Json::parse(R"({"b": 1, "c": 6, "d": 5})"));
}

TEST(Override, AnotherTypeDropsWhatTheLayersBeforeSaid) {
  const std::string json = R"({"o": {"type": "a", "x": 1, "p": {"type": "c", "y": 1, "z": 2}}})";
  EXPECT_EQ(with({"o.type=b"}, json), Json::parse(R"({"o": {"type": "b"}})"));
  EXPECT_EQ(with({"o.p.type=d"}, json),
            Json::parse(R"({"o": {"type": "a", "x": 1, "p": {"type": "d"}}})"));
  // All of --set is one layer: what it says about the new type stays, in any order.
  const std::vector<std::vector<std::string>> sets = {
      {"o.w=3", "o.type=b"}, {"o.type=b", "o.w=3"}, {R"(o={"type":"b","w":3})"}};
  for (const auto& set : sets) {
    const Json changed = with(set, json)["o"];
    EXPECT_EQ(changed.size(), 2u);
    EXPECT_EQ(changed["type"], "b");
    EXPECT_EQ(changed["w"], 3);
  }
  EXPECT_EQ(with({"o.type=a", "o.w=3"}, json)["o"]["x"], 1);
}

TEST(Override, NumbersThatNoTypeHoldsAreErrors) {
  expect_bad_input({"--set 'a.b=1e400'", "1e400", "too large"}, [&] { with("a.b=1e400"); });
  expect_bad_input({"--set 'a.b=1e-400'", "1e-400", "too small"}, [&] { with("a.b=1e-400"); });
  EXPECT_EQ(with("a.b=0e-400")["a"]["b"], 0.0);
  EXPECT_EQ(with("a.b=-0.0")["a"]["b"], 0.0);
}

TEST(Override, MalformedOnesAreErrors) {
  for (const char* text : {"a.b", "=1", "", ".a=1", "a.=1", "a..b=1"}) {
    expect_bad_input({fmt::format("--set '{}'", text)}, [&] { with(text); });
  }
}

}  // namespace
}  // namespace dashlm
