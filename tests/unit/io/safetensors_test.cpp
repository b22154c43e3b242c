#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "io/file.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace dashlm {
namespace {

using testing::expect_bad_input;
using testing::expect_runtime_failure;
using testing::TempFolder;

// A file of this header and as many data bytes 0, 1, 2, ...
std::string raw_file(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  text += header;
  for (size_t i = 0; i < data_bytes; ++i) text += static_cast<char>(i);
  return text;
}

void write_items(const std::string& path, const std::vector<SafetensorsItem>& items,
                 const std::map<std::string, std::string>& metadata = {}) {
  FileWriter file(path);
  write_safetensors(file, items, metadata);
  file.commit();
}

// --- round trips --------------------------------------------------------------------------------

template <class T>
std::vector<T> counting(size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(3 * i + 1);
  return values;
}

TEST(Safetensors, EveryTypeAndRankSurvives) {
  const TempFolder folder;
  const auto f32 = counting<float>(6);
  const auto f64 = counting<double>(24);
  const auto i32 = counting<int32_t>(5);
  const auto u8 = counting<uint8_t>(3);
  const auto half = counting<uint16_t>(7);
  const std::vector<SafetensorsItem> items = {
      {"model.layers.0.weight", DType::f32, {2, 3}, f32.data()},
      {"z", DType::f64, {2, 3, 2, 2}, f64.data()},
      {"a \"quoted\" näme", DType::i32, {5}, i32.data()},
      {"bytes", DType::u8, {3}, u8.data()},
      {"bf16", DType::bf16, {7, 1}, half.data()},
      {"f16", DType::f16, {1, 7}, half.data()},
      {"scalar", DType::f32, {}, f32.data()},
      {"empty", DType::f32, {0, 4}, nullptr},
  };
  write_items(folder / "a.safetensors", items, {{"format", "pt"}, {"step", "12"}});

  const SafetensorsReader reader(folder / "a.safetensors");
  EXPECT_EQ(reader.entries().size(), items.size());
  EXPECT_EQ(reader.metadata(),
            (std::map<std::string, std::string>{{"format", "pt"}, {"step", "12"}}));
  int64_t offset = reader.entries().at(items[0].name).offset;
  EXPECT_EQ(offset % 64, 0);
  for (const SafetensorsItem& item : items) {
    const SafetensorsEntry& entry = reader.entries().at(item.name);
    EXPECT_EQ(entry.dtype, item.dtype);
    EXPECT_EQ(entry.shape, item.shape);
    EXPECT_EQ(entry.offset, offset) << item.name;  // the order given
    offset += entry.bytes;
    std::vector<char> back(static_cast<size_t>(entry.bytes) + 1, '#');
    reader.read(item.name, item.dtype, item.shape, back.data());
    if (entry.bytes > 0) {
      const void* written = std::get<const void*>(item.data);
      EXPECT_EQ(std::memcmp(back.data(), written, static_cast<size_t>(entry.bytes)), 0);
    }
    EXPECT_EQ(back.back(), '#');
  }
}

TEST(Safetensors, HeadersOfEveryLengthAlignTheData) {
  const TempFolder folder;
  const float value = 2.5f;
  for (size_t length = 1; length <= 70; ++length) {
    const std::string name(length, 'n');
    write_items(folder / "a", {{name, DType::f32, {1}, &value}});
    const SafetensorsReader reader(folder / "a");
    EXPECT_EQ(reader.entries().at(name).offset % 64, 0);
    EXPECT_EQ(reader.read_f32(name), std::vector<float>{2.5f});
  }
}

// The buffer is shared: what a larger tensor has left in it must not show.
TEST(Safetensors, FunctionsFillTheirTensors) {
  const TempFolder folder;
  const auto fill = [](float value, size_t count) {
    return [=](void* to) { std::fill_n(static_cast<float*>(to), count, value); };
  };
  const auto values = counting<float>(3);
  write_items(folder / "a", {{"small", DType::f32, {2}, fill(1, 2)},
                             {"large", DType::f32, {2, 3}, fill(2, 6)},
                             {"pointer", DType::f32, {3}, values.data()},
                             {"last", DType::f32, {1}, fill(3, 1)}});
  const SafetensorsReader reader(folder / "a");
  EXPECT_EQ(reader.read_f32("small"), std::vector<float>(2, 1));
  EXPECT_EQ(reader.read_f32("large"), std::vector<float>(6, 2));
  EXPECT_EQ(reader.read_f32("pointer"), values);
  EXPECT_EQ(reader.read_f32("last"), std::vector<float>(1, 3));
}

TEST(Safetensors, AFileWithoutTensorsIsValid) {
  const TempFolder folder;
  write_items(folder / "a", {});
  EXPECT_TRUE(SafetensorsReader(folder / "a").entries().empty());
}

TEST(Safetensors, OtherProgramsCanReadIt) {
  if (std::system("python3 -c pass >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  const TempFolder folder;
  const auto values = counting<float>(6);
  const auto bytes = counting<uint8_t>(3);
  write_items(folder / "a",
              {{"w", DType::f32, {2, 3}, values.data()}, {"b\\\"", DType::u8, {3}, bytes.data()}},
              {{"format", "pt"}});
  write_text_file(folder / "read.py", R"(
import json, struct, sys
raw = open(sys.argv[1], 'rb').read()
length = struct.unpack('<Q', raw[:8])[0]
header = json.loads(raw[8:8 + length])
data = raw[8 + length:]
assert (8 + length) % 64 == 0
assert header.pop('__metadata__') == {'format': 'pt'}
assert header == {'w': {'dtype': 'F32', 'shape': [2, 3], 'data_offsets': [0, 24]},
                  'b\\"': {'dtype': 'U8', 'shape': [3], 'data_offsets': [24, 27]}}, header
assert struct.unpack('<6f', data[:24]) == (1, 4, 7, 10, 13, 16)
assert list(data[24:]) == [1, 4, 7]
)");
  EXPECT_EQ(std::system(("python3 " + folder / "read.py" + " " + folder / "a").c_str()), 0);
}

// --- conversion ---------------------------------------------------------------------------------

TEST(Safetensors, ReadsHalfPrecisionAsFloat) {
  const TempFolder folder;
  // 1, -2, largest, smallest normal, largest and smallest subnormal, zeros, infinities, 1/3
  const std::vector<uint16_t> bits = {0x3C00, 0xC000, 0x7BFF, 0x0400, 0x03FF, 0x0001,
                                      0x0000, 0x8000, 0x7C00, 0xFC00, 0x3555, 0x8001};
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1.0f,
                                     -2.0f,
                                     65504.0f,
                                     std::ldexp(1.0f, -14),
                                     std::ldexp(1023.0f, -24),
                                     std::ldexp(1.0f, -24),
                                     0.0f,
                                     -0.0f,
                                     inf,
                                     -inf,
                                     0.333251953125f,
                                     -std::ldexp(1.0f, -24)};
  write_items(folder / "a", {{"h", DType::f16, {12}, bits.data()}});
  const std::vector<float> read = SafetensorsReader(folder / "a").read_f32("h");
  ASSERT_EQ(read.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(read[i]), std::bit_cast<uint32_t>(values[i])) << i;
  }
  const uint16_t nan = 0x7E01;
  write_items(folder / "nan", {{"h", DType::f16, {1}, &nan}, {"b", DType::bf16, {1}, "\x81\x7F"}});
  EXPECT_TRUE(std::isnan(SafetensorsReader(folder / "nan").read_f32("h")[0]));
  EXPECT_TRUE(std::isnan(SafetensorsReader(folder / "nan").read_f32("b")[0]));
}

TEST(Safetensors, ReadsBfloat16AndDoubleAsFloat) {
  const TempFolder folder;
  const std::vector<uint16_t> bits = {0x3F80, 0xC020, 0x0001, 0x8000, 0x7F7F};
  const std::vector<double> doubles = {1.0, 1.0 / 3.0, -1e300, 1e-46, 16777217.0};
  write_items(folder / "a",
              {{"b", DType::bf16, {5}, bits.data()}, {"d", DType::f64, {5}, doubles.data()}});
  const SafetensorsReader reader(folder / "a");
  EXPECT_EQ(reader.read_f32("b"), (std::vector<float>{1.0f, -2.5f, std::ldexp(1.0f, -133), -0.0f,
                                                      std::ldexp(255.0f, 120)}));
  EXPECT_EQ(reader.read_f32("d"),
            (std::vector<float>{1.0f, 1.0f / 3.0f, -std::numeric_limits<float>::infinity(), 0.0f,
                                16777216.0f}));
}

TEST(Safetensors, ConvertsMoreThanOnePiece) {
  const TempFolder folder;
  std::vector<uint16_t> bits(3'000'001);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i % 0x7F80);
  write_items(folder / "a", {{"b", DType::bf16, {3'000'001}, bits.data()}});
  const std::vector<float> read = SafetensorsReader(folder / "a").read_f32("b");
  ASSERT_EQ(read.size(), bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(read[i]) >> 16, bits[i]) << i;
  }
}

// --- wrong use ----------------------------------------------------------------------------------

TEST(Safetensors, ReadNamesFileTensorAndBothShapes) {
  const TempFolder folder;
  const auto values = counting<int32_t>(6);
  write_items(folder / "a", {{"w", DType::i32, {2, 3}, values.data()}});
  const SafetensorsReader reader(folder / "a");
  std::vector<int32_t> back(6);
  expect_bad_input({folder / "a", "\"w\"", "(2, 3)", "(3, 2)"}, [&] {
    reader.read("w", DType::i32, {3, 2}, back.data());
  });
  expect_bad_input({folder / "a", "\"w\"", "i32", "f32"}, [&] {
    reader.read("w", DType::f32, {2, 3}, back.data());
  });
  expect_bad_input({folder / "a", "\"v\""}, [&] {
    reader.read("v", DType::i32, {2, 3}, back.data());
  });
  expect_bad_input({folder / "a", "\"w\"", "i32"}, [&] { reader.read_f32("w"); });
  expect_bad_input({folder / "a", "\"v\""}, [&] { reader.read_f32("v"); });
}

TEST(Safetensors, WriterRefusesEqualNames) {
  const TempFolder folder;
  const float value = 0;
  FileWriter file(folder / "a");
  const SafetensorsItem item = {"w", DType::f32, {1}, &value};
  expect_runtime_failure({folder / "a", "\"w\""}, [&] { write_safetensors(file, {item, item}); });
  const SafetensorsItem reserved = {"__metadata__", DType::f32, {1}, &value};
  expect_runtime_failure({"__metadata__"}, [&] { write_safetensors(file, {reserved}); });
}

// --- malformed files ----------------------------------------------------------------------------

struct Malformed {
  const char* name;
  std::string content;
  std::vector<std::string> parts;  // of the message
};

std::string one(const std::string& fields, size_t data_bytes = 8) {
  return raw_file("{\"w\":{" + fields + "}}", data_bytes);
}

std::string two(const std::string& first, const std::string& second, size_t data_bytes) {
  const std::string type = R"({"dtype":"U8","shape":[4],"data_offsets":)";
  return raw_file("{\"v\":" + type + first + "},\"w\":" + type + second + "}}", data_bytes);
}

std::string with_length(uint64_t length, const std::string& rest) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + rest;
}

std::vector<Malformed> malformed() {
  const std::string f32 = R"("dtype":"F32",)";
  const std::string shape = R"("shape":[2],)";
  const std::string offsets = R"("data_offsets":[0,8])";
  return {
      {"Empty", "", {"has only 0 bytes"}},
      {"ShorterThanLength", "1234567", {"has only 7 bytes"}},
      {"HeaderBeyondBound", with_length(100'000'001, "{}"), {"100000001", "100000000"}},
      {"HeaderLengthNegative", with_length(~uint64_t{0}, "{}"), {"not a safetensors file"}},
      {"HeaderBeyondFile", with_length(3, "{}"), {"cut off"}},
      {"HeaderEmpty", with_length(0, "{}"), {"does not begin"}},
      {"HeaderNotObject", raw_file("[1]", 0), {"does not begin"}},
      {"HeaderNotJson", raw_file("{\"w\":", 0), {"not valid JSON"}},
      {"HeaderNotUtf8", raw_file("{\"\xFF\xFE\":1}", 0), {"not valid JSON"}},
      {"HeaderNumberTooLarge", raw_file("{\"w\":1e999}", 0), {"not valid JSON"}},
      {"HeaderTrailingText", raw_file("{} x", 0), {"not valid JSON"}},
      {"HeaderNestedDeeply",
       raw_file("{\"w\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", 0),
       {"nested too deeply"}},
      {"TensorTwice", raw_file("{\"w\":1,\"w\":2}", 0), {"\"w\"", "twice"}},
      {"KeyTwice", one(f32 + f32 + shape + offsets), {"\"dtype\"", "twice"}},
      {"TensorNotObject", raw_file("{\"w\":[1]}", 0), {"\"w\"", "must have dtype"}},
      {"NoDtype", one(shape + offsets), {"\"w\"", "must have dtype"}},
      {"NoShape", one(f32 + offsets), {"\"w\"", "must have dtype"}},
      {"NoOffsets", one(f32 + R"("shape":[2])"), {"\"w\"", "must have dtype"}},
      {"DtypeUnknown", one(R"("dtype":"F8_E4M3",)" + shape + offsets), {"\"w\"", "F8_E4M3", "F32"}},
      {"DtypeInt64", one(R"("dtype":"I64","shape":[1],)" + offsets), {"\"w\"", "I64", "I32"}},
      {"DtypeNotString", one(R"("dtype":32,)" + shape + offsets), {"\"w\"", "dtype 32"}},
      {"ShapeNotList", one(f32 + R"("shape":2,)" + offsets), {"\"w\"", "shape"}},
      {"ShapeNegative", one(f32 + R"("shape":[-2],)" + offsets), {"\"w\"", "shape", "-2"}},
      {"ShapeFraction", one(f32 + R"("shape":[2.0],)" + offsets), {"\"w\"", "shape", "2.0"}},
      {"ShapeText", one(f32 + R"("shape":["2"],)" + offsets), {"\"w\"", "shape"}},
      {"ShapeRank", one(f32 + R"("shape":[1,1,1,1,2],)" + offsets), {"\"w\"", "5 dimensions"}},
      {"ShapeOverflow",
       one(f32 + R"("shape":[4294967296,4294967296,2],)" + offsets),
       {"\"w\"", "too many elements"}},
      {"ShapeBeyondInt64",
       one(f32 + R"("shape":[18446744073709551615],)" + offsets),
       {"\"w\"", "shape"}},
      {"OffsetsNotList", one(f32 + shape + R"("data_offsets":8)"), {"\"w\"", "data_offsets"}},
      {"OffsetsThree", one(f32 + shape + R"("data_offsets":[0,4,8])"), {"\"w\"", "data_offsets"}},
      {"OffsetsNegative", one(f32 + shape + R"("data_offsets":[-8,0])"), {"\"w\"", "data_offsets"}},
      {"OffsetsReversed", one(f32 + shape + R"("data_offsets":[8,0])"), {"\"w\"", "outside"}},
      {"OffsetsOutside", one(f32 + shape + R"("data_offsets":[4,12])"), {"\"w\"", "outside"}},
      {"DataCutOff", one(f32 + shape + offsets, 7), {"\"w\"", "outside", "cut off"}},
      {"SizeMismatch", one(f32 + R"("shape":[1],)" + offsets), {"\"w\"", "4 bytes", "span 8"}},
      {"Overlap", two("[0,4]", "[3,7]", 7), {"\"v\"", "\"w\"", "overlap"}},
      {"SameRange", two("[0,4]", "[0,4]", 4), {"\"v\"", "\"w\"", "overlap"}},
      {"Hole", two("[0,4]", "[5,9]", 9), {"\"w\"", "1 bytes before"}},
      {"HoleAtBegin", two("[1,5]", "[5,9]", 9), {"\"v\"", "1 bytes before"}},
      {"TrailingBytes", two("[0,4]", "[4,8]", 10), {"2 bytes at the end"}},
      {"MetadataNotObject", raw_file("{\"__metadata__\":1}", 0), {"__metadata__"}},
      {"MetadataNotText", raw_file("{\"__metadata__\":{\"a\":1}}", 0), {"__metadata__.a"}},
  };
}

class MalformedSafetensors : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedSafetensors, IsRefusedWithTheReason) {
  const TempFolder folder;
  write_text_file(folder / "bad.safetensors", GetParam().content);
  std::vector<std::string> parts = GetParam().parts;
  parts.push_back(folder / "bad.safetensors");
  expect_bad_input(parts, [&] { SafetensorsReader reader(folder / "bad.safetensors"); });
}

INSTANTIATE_TEST_SUITE_P(All, MalformedSafetensors, ::testing::ValuesIn(malformed()),
                         [](const auto& param) { return param.param.name; });

TEST(Safetensors, MissingFileIsNamed) {
  expect_bad_input({"/nonexistent/a"}, [] { SafetensorsReader reader("/nonexistent/a"); });
}

TEST(Safetensors, TwoTensorsInAnyOrderAreValid) {
  const TempFolder folder;
  write_text_file(folder / "a", two("[4,8]", "[0,4]", 8));
  const SafetensorsReader reader(folder / "a");
  std::string bytes(4, '#');
  reader.read("v", DType::u8, {4}, bytes.data());
  EXPECT_EQ(bytes, (std::string{4, 5, 6, 7}));
}

TEST(Safetensors, EveryTruncationIsFound) {
  const TempFolder folder;
  const std::string whole = two("[0,4]", "[4,8]", 8);
  for (size_t length = 0; length < whole.size(); ++length) {
    write_text_file(folder / "a", whole.substr(0, length));
    expect_bad_input({folder / "a"}, [&] { SafetensorsReader reader(folder / "a"); });
  }
}

// Whatever the bytes are: an Error or a reader, never anything else.
TEST(Safetensors, DamagedHeadersNeverCrash) {
  const TempFolder folder;
  const std::string whole = two("[0,4]", "[4,8]", 8);
  const CounterRandom random(1, Purpose::test);
  int refused = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    std::string text = whole;
    for (uint64_t flips = 0; flips <= i % 3; ++flips) {
      text[random.below(text.size(), 8 * i + 2 * flips)] =
          static_cast<char>(random.below(256, 8 * i + 2 * flips + 1));
    }
    write_text_file(folder / "a", text);
    try {
      const SafetensorsReader reader(folder / "a");
      for (const auto& [name, entry] : reader.entries()) {
        std::vector<char> bytes(static_cast<size_t>(entry.bytes));
        reader.read(name, entry.dtype, entry.shape, bytes.data());
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::bad_input);
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace dashlm
