// The folder of a dataset, as `dashlm tokenize` leaves it, and how to tell that it is whole.
//
//   tokenizer.model               the SentencePiece model in use
//   train_00000.bin ...           token shards
//   val_00000.bin ...
//   dataset.json                  what it is and where it came from: every shard with its size
//   .unfinished/                  only while a dataset is being made, and after that was broken off
//
// A dataset is made in .unfinished/ and moves up when it is complete, its dataset.json last. So a
// folder with dataset.json holds a whole dataset, an older one while a new one is being made; and a
// folder with .unfinished/ alone holds none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/shard_writer.h"
#include "io/file.h"

namespace dashlm {

// What dataset.json says about the other files.
struct DatasetManifest {
  int64_t vocab_size = 0;
  uint32_t tokenizer_crc = 0;
  std::vector<WrittenShard> train, val;
};

// Whether there is a dataset.json; and whether one is only on its way.
bool has_manifest(const std::string& folder);
bool is_unfinished(const std::string& folder);
// Throws a bad_input Error when dataset.json is missing, damaged or something else.
DatasetManifest read_manifest(const std::string& folder);

// Whether `name` is one that tokenize gives to a shard: train_00000.bin, val_00012.bin.
bool is_shard_name(const std::string& name);
// The names of that kind in a folder, sorted.
std::vector<std::string> shards_in(const std::string& folder);
// The dataset that a file belongs to: the folder it lies in or, where that has no dataset.json and
// the file is a link, the folder it leads to.
std::string dataset_of(const std::string& file);

// Throws a bad_input Error when one of these paths (files, folders, patterns) names a dataset that
// is not finished. For use before the paths are expanded: it may have no files yet.
void require_finished(const std::vector<std::string>& paths);
// Throws a bad_input Error when a token file belongs to a dataset of which dataset.json is missing,
// or lists other shards for that part (train, val) than are there. Files that have other names than
// those of a dataset, or other formats and no dataset.json, are taken as they are.
void require_whole(const std::vector<std::string>& files);

// A dataset under construction. Other processes are kept out of its folder until the end.
class DatasetBuilder {
 public:
  // Throws a bad_input Error when `folder` holds another dataset, or shards that may be somebody's,
  // and `force` is not set; what an interrupted process left counts for nothing.
  DatasetBuilder(std::string folder, bool force);
  ~DatasetBuilder();  // without commit(): removes what was written
  DatasetBuilder(const DatasetBuilder&) = delete;
  DatasetBuilder& operator=(const DatasetBuilder&) = delete;

  const std::string& work_folder() const { return work_; }  // where to write the files
  // Puts the new files, of which dataset.json must be one, in the place of the old ones.
  void commit();

 private:
  void require_place(bool force) const;

  std::string folder_, work_;
  bool made_ = false;  // the folder, by us
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace dashlm
