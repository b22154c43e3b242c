// Many token files as one stream of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/token_shard.h"
#include "io/file.h"

namespace dashlm {

struct Shard {
  std::string path;
  int64_t begin = 0;  // position of its first token in the stream
  ShardLayout layout;
  int64_t file_bytes = 0;

  int64_t end() const { return begin + layout.tokens; }
};

// The token files named by `paths` as in expand_paths(). A directory stands for its files *.bin and
// chunk_*. Throws a bad_input Error, too, when they belong to an unfinished dataset.
std::vector<std::string> token_files(const std::vector<std::string>& paths);

// Immutable once made, so any number of threads may read from it. Files are read, not mapped: a
// file that shrinks meanwhile is then an error and not a signal.
class TokenStream {
 public:
  // `paths` as in token_files(). Throws a bad_input Error that names the file when it is missing,
  // empty, of odd size, cut short, longer than its header says, or made for more than `vocab_size`
  // tokens. Throws, too, when a directory mixes validation files (val*) with others, since training
  // on them would go unnoticed; and when the dataset of a shard is not whole
  // (data/dataset_folder.h).
  TokenStream(const std::vector<std::string>& paths, int64_t vocab_size);
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;

  int64_t size() const { return size_; }  // tokens
  int64_t vocab_size() const { return vocab_size_; }
  const std::vector<Shard>& shards() const { return shards_; }

  // Tokens [begin, begin + count) of the stream, across shards. Throws when a token is not below
  // vocab_size, naming the shard and the position within it.
  void read(int64_t begin, int64_t count, int32_t* out) const;

  // A CRC-32 over names without folders, sizes, and a sample of every shard's bytes. It tells other
  // data from the same data in another place, without reading all of it.
  uint32_t fingerprint() const;

  // Throws as read() does, without returning the tokens.
  void check(int64_t begin, int64_t count) const;
  // Checks about `tokens` tokens in all, from the start of each shard.
  void check_sample(int64_t tokens) const;

  // Reads everything; throws when a token is out of range or a stored CRC does not match.
  void verify() const;

 private:
  void add_shard(const std::string& path);
  void read_shard(size_t index, int64_t begin, int64_t count, int32_t* out) const;
  void read_bytes(size_t index, int64_t offset, int64_t bytes, void* out) const;

  int64_t vocab_size_;
  int64_t size_ = 0;
  std::vector<Shard> shards_;
  std::vector<std::unique_ptr<FileReader>> files_;  // the first shards; others open per read
};

}  // namespace dashlm
