// What the tests of data share: a directory that vanishes, files of all kinds, checks of errors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/token_shard.h"

namespace dashlm::test {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dashlm_data_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string gzip(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// first, first + 1, ... modulo `modulus`.
template <class T = uint16_t>
std::vector<T> counting(int64_t count, int64_t first = 0, int64_t modulus = 60000) {
  std::vector<T> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<T>((first + i) % modulus));
  return tokens;
}

// A whole token file in one of the formats with headers.
template <class T>
std::string shard(ShardLayout layout, const std::vector<T>& tokens) {
  layout.bytes_per_token = sizeof(T);
  layout.tokens = static_cast<int64_t>(tokens.size());
  return make_shard_header(layout) + bytes_of(tokens);
}

// Runs `action` and expects a dashlm::Error whose message contains all of `parts`.
template <class Action>
void expect_error(Action&& action, const std::vector<std::string>& parts,
                  ExitCode code = ExitCode::bad_input) {
  try {
    action();
  } catch (const Error& error) {
    for (const std::string& part : parts) EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    EXPECT_EQ(error.code(), code) << error.what();
    return;
  }
  ADD_FAILURE() << "no error, expected one with: " << ::testing::PrintToString(parts);
}

}  // namespace dashlm::test
