// Several files as one set of tensors.
#include "io/safetensors_set.h"

#include <gtest/gtest.h>

#include <array>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace dashlm::testing {
namespace {

class SafetensorsSetTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::vector<std::string>& tensors) {
    std::vector<SafetensorsItem> items;
    for (const std::string& tensor : tensors) {
      items.push_back({tensor, DType::f32, {2}, [tensor](void* out) {
                         const auto value = static_cast<float>(tensor[0]);
                         static_cast<float*>(out)[0] = static_cast<float*>(out)[1] = value;
                       }});
    }
    FileWriter file(folder_ / name);
    write_safetensors(file, items);
    file.commit();
  }
  static float read(const SafetensorsSet& set, const std::string& name) {
    std::array<float, 2> values = {};
    set.read(name, DType::f32, {2}, values.data());
    EXPECT_EQ(values[0], values[1]);
    return values[1];
  }

  TempFolder folder_;
};

TEST_F(SafetensorsSetTest, OneFile) {
  EXPECT_EQ(safetensors_part_name("state", 0, 1), "state.safetensors");
  write("state.safetensors", {"a", "b"});
  const SafetensorsSet set(folder_.path(), "state");
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(read(set, "b"), 'b');
}

TEST_F(SafetensorsSetTest, SeveralPartsOneOfThemEmpty) {
  EXPECT_EQ(safetensors_part_name("state", 1, 3), "state-00002-of-00003.safetensors");
  write("state-00001-of-00003.safetensors", {"a", "c"});
  write("state-00002-of-00003.safetensors", {});
  write("state-00003-of-00003.safetensors", {"b"});
  write("other-00001-of-00001.safetensors", {"d"});
  const SafetensorsSet set(folder_.path(), "state");
  EXPECT_EQ(set.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(set.contains("c"));
  EXPECT_FALSE(set.contains("d"));
  for (const char name : {'a', 'b', 'c'}) EXPECT_EQ(read(set, std::string(1, name)), name);
}

TEST_F(SafetensorsSetTest, NamesWhatIsMissing) {
  expect_bad_input({folder_.path(), "state.safetensors"},
                   [&] { SafetensorsSet(folder_.path(), "state"); });
  write("state-00001-of-00002.safetensors", {"a"});
  expect_bad_input({"state-00002-of-00002.safetensors"},
                   [&] { SafetensorsSet(folder_.path(), "state"); });
  write("state-00002-of-00002.safetensors", {"b"});
  const SafetensorsSet set(folder_.path(), "state");
  expect_bad_input({"state", "\"nobody\""}, [&] { read(set, "nobody"); });
}

TEST_F(SafetensorsSetTest, ATensorInTwoPartsIsAnError) {
  write("state-00001-of-00002.safetensors", {"a", "b"});
  write("state-00002-of-00002.safetensors", {"b"});
  expect_bad_input({"\"b\"", "00001-of", "00002-of"},
                   [&] { SafetensorsSet(folder_.path(), "state"); });
}

}  // namespace
}  // namespace dashlm::testing
