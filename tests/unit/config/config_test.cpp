// Reading, writing and documenting a struct through its one description.
#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace dashlm {

enum class Colour { red, green, dark_blue };
template <>
struct EnumNames<Colour> {
  static constexpr std::pair<Colour, const char*> names[] = {
      {Colour::red, "red"}, {Colour::green, "green"}, {Colour::dark_blue, "dark_blue"}};
};

namespace {

using testing::expect_bad_input;
using ::testing::HasSubstr;
using ::testing::Not;

struct Inner {
  double rate = 0.1;
  bool fast = false;
  void describe(Schema& s) {
    s.field("rate", rate, "share per step", {.min = 0.0, .max = 1.0});
    s.field("fast", fast, "whether to hurry");
  }
};

struct Section {
  Colour colour = Colour::green;
  Inner inner;
  bool thick = false;
  void describe(Schema& s) {
    s.field("colour", colour, "of the line");
    s.section("inner", inner, "what is inside");
    s.field("thick", thick, "after the inner section");
  }
};

struct Sample {
  int64_t steps = 100;
  std::string name = "run";
  std::vector<std::string> files = {"a", "b"};
  Section section;
  int64_t last = 0;
  void describe(Schema& s) {
    s.field("steps", steps, "number of steps", {.min = 1});
    s.field("name", name, "of the run");
    s.field("files", files, "what to read");
    s.section("section", section, "a section");
    s.field("last", last, "after the section", {.max = 9});
  }
};

Sample read(const std::string& text) {
  Sample sample;
  read_config(parse_json(text, "test.json"), "test.json", [&](Schema& s) { sample.describe(s); });
  return sample;
}

Json write(Sample sample) {
  return write_config([&](Schema& s) { sample.describe(s); });
}

std::string table(TableStyle style) {
  Sample sample;
  return config_table([&](Schema& s) { sample.describe(s); }, style);
}

// --- reading and writing ------------------------------------------------------------------------

TEST(ReadConfig, AbsentKeysKeepTheirDefaults) {
  const Sample sample = read(R"({"section": {"inner": {"rate": 0.5}}})");
  EXPECT_EQ(sample.steps, 100);
  EXPECT_EQ(sample.name, "run");
  EXPECT_EQ(sample.section.colour, Colour::green);
  EXPECT_EQ(sample.section.inner.rate, 0.5);
  EXPECT_EQ(write(read("{}")), write(Sample()));
}

TEST(ReadConfig, EveryKindOfField) {
  const Sample sample = read(R"({
    "steps": 7, "name": "other", "files": ["x"], "last": -3, // a comment
    "section": {"colour": "dark_blue", "inner": {"rate": 1, "fast": true}}})");
  EXPECT_EQ(sample.steps, 7);
  EXPECT_EQ(sample.name, "other");
  EXPECT_EQ(sample.files, std::vector<std::string>{"x"});
  EXPECT_EQ(sample.last, -3);
  EXPECT_EQ(sample.section.colour, Colour::dark_blue);
  EXPECT_EQ(sample.section.inner.rate, 1.0);
  EXPECT_TRUE(sample.section.inner.fast);
}

TEST(ReadConfig, OneStringIsAListOfOne) {
  EXPECT_EQ(read(R"({"files": "x"})").files, std::vector<std::string>{"x"});
  EXPECT_EQ(read(R"({"files": []})").files, std::vector<std::string>{});
}

TEST(ReadConfig, WholeNumbersMayBeWrittenAsPeopleDo) {
  EXPECT_EQ(read(R"({"steps": 1e3})").steps, 1000);
  EXPECT_EQ(read(R"({"steps": 1000.0})").steps, 1000);
  EXPECT_EQ(read(R"({"steps": 9223372036854775807})").steps, INT64_MAX);
  EXPECT_EQ(read(R"({"last": -9223372036854775808})").last, INT64_MIN);
}

TEST(WriteConfig, ComesBackTheSame) {
  Sample sample;
  sample.steps = 12345678901234;
  sample.name = "quote \" and ümlaut";
  sample.files = {};
  sample.section.colour = Colour::red;
  sample.section.inner.rate = 0.1 + 0.2;  // all 17 digits count
  sample.section.inner.fast = true;
  const Json json = write(sample);
  const Sample back = read(json.dump(2));
  EXPECT_EQ(write(back), json);
  EXPECT_EQ(back.section.inner.rate, sample.section.inner.rate);
  EXPECT_EQ(back.section.colour, Colour::red);
  EXPECT_EQ(json["section"]["colour"], "red");
  EXPECT_EQ(json.begin().key(), "steps");  // the order of the description
}

// --- errors -------------------------------------------------------------------------------------

TEST(ReadConfig, UnknownKeysSuggestTheNearest) {
  expect_bad_input({"test.json", "\"step\"", "did you mean steps?"},
                   [] { read(R"({"step": 1})"); });
  // In whatever section it is, though it was looked for in another.
  expect_bad_input({"\"rate\"", "did you mean section.inner.rate?"},
                   [] { read(R"({"rate": 1})"); });
  expect_bad_input({"\"section.inner.colour\"", "did you mean section.colour?"},
                   [] { read(R"({"section": {"inner": {"colour": 1}}})"); });
  expect_bad_input({"\"section.steps\"", "did you mean steps?"},
                   [] { read(R"({"section": {"steps": 1}})"); });
  expect_bad_input({"\"section.thick\" is no key", "nest"},
                   [] { read(R"({"section.thick": 1})"); });
  expect_bad_input({"\"section.inner.rat\"", "did you mean section.inner.rate?"},
                   [] { read(R"({"section": {"inner": {"rat": 1}}})"); });
  expect_bad_input({"\"section.color\"", "did you mean section.colour?"},
                   [] { read(R"({"section": {"color": "red"}})"); });
  const std::string far =
      expect_bad_input({"\"gradient_clipping\""}, [] { read(R"({"gradient_clipping": 1})"); });
  EXPECT_THAT(far, Not(HasSubstr("did you mean")));
}

TEST(ReadConfig, WrongTypesNameKeyAndValue) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {R"({"steps": "7"})", {"\"steps\"", "an integer", "\"7\""}},
      {R"({"steps": 7.5})", {"\"steps\"", "an integer", "7.5"}},
      {R"({"steps": true})", {"\"steps\"", "an integer", "true"}},
      {R"({"steps": null})", {"\"steps\"", "an integer", "null"}},
      {R"({"steps": 1e300})", {"\"steps\"", "an integer", "1e+300"}},
      {R"({"steps": 18446744073709551615})", {"\"steps\"", "18446744073709551615"}},
      {R"({"steps": 9223372036854775808})", {"\"steps\"", "9223372036854775808"}},
      {R"({"name": 3})", {"\"name\"", "a string", "3"}},
      {R"({"files": [1]})", {"\"files\"", "list of strings", "[1]"}},
      {R"({"files": {"a": 1}})", {"\"files\"", "list of strings"}},
      {R"({"section": 3})", {"\"section\"", "an object", "3"}},
      {R"({"section": {"inner": {"rate": "x"}}})", {"\"section.inner.rate\"", "a number"}},
      {R"({"section": {"inner": {"fast": 1}}})", {"\"section.inner.fast\"", "true or false"}},
      {R"({"section": {"colour": 1}})", {"\"section.colour\"", "a string"}},
      {R"([1])", {"a JSON object", "array"}},
  };
  for (const auto& [text, parts] : cases) {
    SCOPED_TRACE(text);
    expect_bad_input(parts, [&, &json = text] { read(json); });
  }
}

TEST(ReadConfig, RangesAreClosed) {
  EXPECT_EQ(read(R"({"steps": 1, "last": 9})").steps, 1);
  expect_bad_input({"\"steps\"", "0", "at least 1"}, [] { read(R"({"steps": 0})"); });
  expect_bad_input({"\"last\" is 10, but must be at most 9"}, [] { read(R"({"last": 10})"); });
  expect_bad_input({"\"section.inner.rate\"", "1.5", "at most 1"},
                   [] { read(R"({"section": {"inner": {"rate": 1.5}}})"); });
  expect_bad_input({"\"section.inner.rate\"", "at least 0"},
                   [] { read(R"({"section": {"inner": {"rate": -1e-9}}})"); });
}

TEST(ReadConfig, ChoicesAreListed) {
  expect_bad_input({"\"section.colour\"", "\"blue\"", "red, green, dark_blue"},
                   [] { read(R"({"section": {"colour": "blue"}})"); });
}

// --- documentation ------------------------------------------------------------------------------

TEST(ConfigTable, TextListsEverything) {
  const std::string text = table(TableStyle::text);
  for (const char* part :
       {"steps", "integer, at least 1", "100", "number of steps", "section: a section",
        "section.colour", "red, green, dark_blue", "\"green\"", "section.inner.rate",
        "number, 0 to 1", "0.1", "section.inner.fast", "true or false", "[\"a\",\"b\"]",
        "integer, at most 9"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  // What is described after a nested section stands under the heading of its own.
  EXPECT_LT(text.find("\n  last "), text.find("section: a section"));
  EXPECT_LT(text.find("\n  section.thick "), text.find("section.inner: what is inside"));
  EXPECT_GT(text.find("\n  section.inner.fast "), text.find("section.inner: what is inside"));
}

TEST(ConfigTable, MarkdownHasARowForEachKey) {
  const std::string text = table(TableStyle::markdown);
  EXPECT_THAT(text, HasSubstr("| `steps` | integer, at least 1 | `100` | number of steps |\n"));
  EXPECT_THAT(text, HasSubstr("| **section.inner** | | | what is inside |\n"));
  EXPECT_THAT(text, HasSubstr("| `section.inner.rate` | number, 0 to 1 | `0.1` |"));
}

TEST(NearestWord, ByEditDistance) {
  EXPECT_EQ(nearest_word("block_sise", {"steps", "block_size", "stacking"}), "block_size");
  EXPECT_EQ(nearest_word("n_layers", {"n_head", "n_layer"}), "n_layer");
  EXPECT_EQ(nearest_word("frequency", {"lr", "ridge"}), "");
  EXPECT_EQ(nearest_word("x", {}), "");
}

TEST(EnumName, GivesTheNameOfTheConfig) {
  EXPECT_STREQ(enum_name(Colour::dark_blue), "dark_blue");
}

}  // namespace
}  // namespace dashlm
