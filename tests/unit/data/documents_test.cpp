#include "data/documents.h"

#include <zlib.h>

#include "test_files.h"

namespace dashlm {
namespace {

using test::expect_error;
using test::gzip;
using test::TempDir;

std::vector<std::string> texts(DocumentReader& reader) {
  std::vector<std::string> result;
  for (Document document; reader.next(document);) result.push_back(document.text);
  return result;
}

std::vector<std::string> texts(const std::vector<std::string>& inputs) {
  DocumentReader reader(inputs, false);
  return texts(reader);
}

TEST(Documents, TextFilesAreOneDocumentEach) {
  const TempDir dir;
  dir.write("b.txt", "second\n\nparagraph");
  dir.write("a.txt",
            "\xef\xbb\xbf"
            "first\n");
  dir.write("c.txt", "");
  dir.write("d.txt.gz", gzip("packed"));
  EXPECT_EQ(texts({dir.path()}),
            (std::vector<std::string>{"first\n", "second\n\nparagraph", "packed"}));
}

TEST(Documents, LinesOfJson) {
  const TempDir dir;
  const std::string path = dir.write(
      "a.jsonl",
      "{\"text\":\"one\\nline\",\"url\":\"x\"}\r\n\n  \n{\"n\":1,\"text\":\"caf\\u00e9\"}\n"
      "{\"text\":\"\"}\n{\"text\":\"no newline\"}");
  EXPECT_EQ(texts({path}), (std::vector<std::string>{"one\nline", "caf\u00e9", "no newline"}));
}

TEST(Documents, DirectoriesMayHoldDescriptions) {
  const TempDir dir;
  dir.write("a.json.gz", gzip("{\"text\":\"packed\"}\n"));
  dir.write("b.json", "{\"text\":\"plain\"}\n");
  EXPECT_EQ(texts({dir.path()}), std::vector<std::string>{"packed"});
  EXPECT_EQ(texts({dir / "b.json"}), std::vector<std::string>{"plain"});
}

TEST(Documents, NamesTheSource) {
  const TempDir dir;
  const std::string path = dir.write("a.jsonl", "\n{\"text\":\"one\"}\n");
  DocumentReader reader({path}, false);
  Document document;
  ASSERT_TRUE(reader.next(document));
  EXPECT_EQ(document.source, path + ":2");
}

TEST(Documents, GzipOfSeveralMembersAndBuffers) {
  const TempDir dir;
  std::string members;
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    // A line may run on from one member to the next, and is longer than a read.
    const std::string text(20000 * static_cast<size_t>(i), static_cast<char>('a' + i % 26));
    members += gzip("{\"text\":\"" + text);
    members += gzip(fmt::format("{}\"}}\n", i));
    expected.push_back(text + std::to_string(i));
  }
  EXPECT_EQ(texts({dir.write("c4-train.00000-of-01024.json.gz", members)}), expected);
}

TEST(Documents, PassesOverZerosAfterGzipMembers) {
  const TempDir dir;
  const std::string one = gzip("{\"text\":\"one\"}\n"), two = gzip("{\"text\":\"two\"}\n");
  for (const size_t count : {size_t{1}, size_t{2}, size_t{512}, size_t{600000}}) {
    const std::string zeros(count, '\0');
    EXPECT_EQ(texts({dir.write("a.json.gz", one + zeros)}), std::vector<std::string>{"one"});
    EXPECT_EQ(texts({dir.write("b.json.gz", one + zeros + two + zeros)}),
              (std::vector<std::string>{"one", "two"}));
    expect_error([&] { texts({dir.write("c.json.gz", one + zeros + "x")}); }, {"c.json.gz"});
    // Within a member they are damage as ever.
    expect_error([&] { texts({dir.write("d.json.gz", one.substr(0, one.size() - 12) + zeros)}); },
                 {"d.json.gz"});
  }
}

TEST(Documents, RefusesTruncatedGzip) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += fmt::format("{{\"text\":\"{}\"}}\n", i * 2654435761u);
  const std::string whole = gzip(text);
  ASSERT_EQ(texts({dir.write("a.json.gz", whole)}).size(), 50000u);
  for (const size_t size : {size_t{2}, size_t{15}, whole.size() / 2, whole.size() - 1}) {
    dir.write("a.json.gz", whole.substr(0, size));
    for (const bool skip_bad : {false, true}) {
      DocumentReader reader({dir / "a.json.gz"}, skip_bad);
      expect_error([&] { texts(reader); },
                   {"a.json.gz", "cut short", fmt::format("byte {}", size)});
    }
  }
}

TEST(Documents, RefusesCorruptGzip) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += fmt::format("{{\"text\":\"{}\"}}\n", i * 2654435761u);
  std::string bytes = gzip(text);
  bytes[bytes.size() - 7] = static_cast<char>(bytes[bytes.size() - 7] ^ 1);  // the stored CRC
  expect_error([&] { texts({dir.write("a.json.gz", bytes)}); }, {"a.json.gz", "corrupt", "byte"});
  expect_error([&] { texts({dir.write("b.json.gz", gzip("{\"text\":\"x\"}") + "rubbish")}); },
               {"b.json.gz", "corrupt"});
  expect_error([&] { texts({dir.write("c.json.gz", "{\"text\":\"x\"}")}); },
               {"c.json.gz", "not gzip"});
}

TEST(Documents, NamesFileAndLineOfBadDocuments) {
  const TempDir dir;
  const std::string good = "{\"text\":\"good\"}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"text\":\"unfinished", "not valid JSON"},
      {"{\"text\":\"x\"} rest", "not valid JSON"},
      {"[\"text\"]", "not an object"},
      {"{\"Text\":\"x\"}", "no key \"text\""},
      {"{\"text\":null}", "not a string"},
      {"{\"text\":\"\xff\"}", "byte 10 of the line is not valid UTF-8"},
      {"{\"text\":\"\\ud800\"}", "not valid JSON"},  // half of a surrogate pair
      {std::string("{\"text\":\"x\"}\0", 13), "byte 13 of the line is zero"},
      {std::string("{\"text\":\"x\"}\0{\"text\":\"y\"}", 25), "byte 13 of the line is zero"},
      {std::string("\0{\"text\":\"y\"}", 13), "byte 1 of the line is zero"},
      {std::string("{\"text\":\"x\0y\"}", 14), "byte 11 of the line is zero"},
  };
  for (const auto& [line, reason] : cases) {
    const std::string path = dir.write("bad.jsonl", good + line + "\n" + good);
    expect_error([&] { texts({path}); }, {"bad.jsonl:2", reason, "--skip-bad"});
    DocumentReader reader({path}, true);
    EXPECT_EQ(texts(reader), (std::vector<std::string>{"good", "good"})) << line;
    EXPECT_EQ(reader.skipped(), 1);
  }
}

TEST(Documents, NamesOffsetOfBadText) {
  const TempDir dir;
  dir.write("a.txt", "caf\xe9 in Latin 1");
  dir.write("b.txt", "fine");
  expect_error([&] { texts({dir.path()}); }, {"a.txt", "byte 3"});
  DocumentReader reader({dir.path()}, true);
  EXPECT_EQ(texts(reader), std::vector<std::string>{"fine"});
  EXPECT_EQ(reader.skipped(), 1);
}

TEST(Documents, RefusesUnknownKindsAndMissingFiles) {
  const TempDir dir;
  expect_error([&] { texts({dir.write("a.pdf", "x")}); }, {"a.pdf", ".jsonl"});
  expect_error([&] { texts({dir / "b.txt"}); }, {"b.txt", "does not exist"});
  expect_error([&] { texts({dir / "*.json.gz"}); }, {"*.json.gz", "matches no"});
}

TEST(Documents, RefusesEndlessLinesAndTexts) {
  const TempDir dir;
  const std::string good = "{\"text\":\"x\"}\n";
  const std::string limit(static_cast<size_t>(kMaxDocumentBytes), 'x');
  const std::string endless(static_cast<size_t>(kMaxLineBytes), ' ');
  dir.write("a.jsonl.gz", gzip(good + "{\"text\":\"" + limit + "\"}\n" + good));
  dir.write("b.txt.gz", gzip(limit));
  EXPECT_EQ(texts({dir.path()}), (std::vector<std::string>{"x", limit, "x", limit}));
  dir.write("a.jsonl.gz", gzip(good + "{\"text\":\"" + limit + "x\"}\n" + good));
  dir.write("b.txt.gz", gzip(limit + "x"));
  dir.write("c.jsonl.gz", gzip(good + good + endless + "\n" + endless + " \n" + good));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a.jsonl.gz", ":2"}, {"b.txt.gz", ""}, {"c.jsonl.gz", ":4"}};
  for (const auto& [name, line] : cases) {
    const std::string path = dir / name;
    expect_error([&] { texts({path}); }, {path + line, "longer than", "--skip-bad"});
  }
  DocumentReader reader({dir.path()}, true);
  EXPECT_EQ(texts(reader), std::vector<std::string>(5, "x"));
  EXPECT_EQ(reader.skipped(), 3);
}

TEST(Documents, CountsEmptyOnes) {
  const TempDir dir;
  dir.write("a.jsonl", "{\"text\":\"\"}\n\n{\"text\":\"one\"}\n{\"text\":\"\"}\n  \n");
  dir.write("b.txt", "");
  dir.write("c.txt", "\xef\xbb\xbf");
  DocumentReader reader({dir.path()}, false);
  EXPECT_EQ(texts(reader), std::vector<std::string>{"one"});
  EXPECT_EQ(reader.empty(), 4);
  EXPECT_EQ(reader.skipped(), 0);
}

TEST(Utf8, AcceptsWhatUnicodeAccepts) {
  for (const std::string text : {"", "plain", "\u00e9", "\u0800\u20ac\ud7ff\ue000\uffff",
                                 "\U00010000\U0010ffff", "\xc2\x80"}) {
    EXPECT_EQ(first_invalid_utf8(text), -1) << text;
  }
  EXPECT_EQ(first_invalid_utf8(std::string("a\0b", 3)), -1);
}

TEST(Utf8, FindsTheFirstBadByte) {
  const std::vector<std::string> bad = {
      "\x80",              // continuation without a start
      "\xc0\x80",          // overlong
      "\xc1\xbf",          //
      "\xe0\x9f\xbf",      //
      "\xf0\x8f\xbf\xbf",  //
      "\xed\xa0\x80",      // surrogate
      "\xf4\x90\x80\x80",  // above U+10FFFF
      "\xf5\x80\x80\x80",  //
      "\xff",              //
      "\xc3",              // cut short
      "\xe2\x82",          //
      "\xf0\x9f\x98",      //
      "\xc3\x28",          // no continuation
      "\xe2\x82\x28",      //
      "\xf0\x9f\x98\x28",  //
  };
  for (const std::string& bytes : bad) {
    EXPECT_EQ(first_invalid_utf8(bytes), 0) << testing::PrintToString(bytes);
    EXPECT_EQ(first_invalid_utf8("ok \u00e9" + bytes), 5) << testing::PrintToString(bytes);
    EXPECT_EQ(first_invalid_utf8("ok" + bytes + "tail"), 2) << testing::PrintToString(bytes);
  }
  // A view may end within a character that goes on in memory.
  EXPECT_EQ(first_invalid_utf8(std::string_view("\u20ac").substr(0, 2)), 0);
}

}  // namespace
}  // namespace dashlm
