// The folder of a dataset, as `dashlm tokenize` leaves it, and checks that it is whole.
//
//   tokenizer.model               the SentencePiece model in use
//   train_00000.bin ...           token shards
//   val_00000.bin ...
//   dataset.json                  the description: sources, tokenizer, every shard with its size
//   .unfinished/                  while a dataset is being made, and after an interruption
//
// A dataset is made in .unfinished/ and moves up when it is complete, its dataset.json last. So a
// folder with dataset.json holds a whole dataset, even while a new one is being made. A folder with
// .unfinished/ alone holds none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/shard_writer.h"
#include "io/file.h"

namespace dashlm {

// The part of dataset.json that describes the other files.
struct DatasetManifest {
  int64_t vocab_size = 0;
  uint32_t tokenizer_crc = 0;
  std::vector<WrittenShard> train, val;
};

// Whether there is a dataset.json; and whether there is only an unfinished dataset.
bool has_manifest(const std::string& folder);
bool is_unfinished(const std::string& folder);
// Throws a bad_input Error when dataset.json is missing, damaged or another kind of file.
DatasetManifest read_manifest(const std::string& folder);

// Whether `name` is the name of a shard made by tokenize: train_00000.bin, val_00012.bin.
bool is_shard_name(const std::string& name);
// The names of shards in a folder, sorted.
std::vector<std::string> shards_in(const std::string& folder);
// The folder of the dataset that a file belongs to: the file's own folder, or, if that has no
// dataset.json and the file is a link, the folder of the link's target.
std::string dataset_of(const std::string& file);

// Throws a bad_input Error when one of these paths (files, folders, patterns) names an unfinished
// dataset. Call it before the paths are expanded, since such a dataset may have no files yet.
void require_finished(const std::vector<std::string>& paths);
// Throws a bad_input Error when a token file belongs to a dataset whose dataset.json is missing, or
// lists other shards of that part (train, val) than there are. Two kinds of files are accepted as
// they are: files with other names than a dataset's, and files in other formats without a
// dataset.json.
void require_whole(const std::vector<std::string>& files);

// A dataset under construction. Other processes are kept out of its folder until the end.
class DatasetBuilder {
 public:
  // Throws a bad_input Error when `folder` holds another dataset, or shards that may belong to
  // somebody, and `force` is not set. Files of an interrupted process do not count.
  DatasetBuilder(std::string folder, bool force);
  ~DatasetBuilder();  // without commit(): removes the new files
  DatasetBuilder(const DatasetBuilder&) = delete;
  DatasetBuilder& operator=(const DatasetBuilder&) = delete;

  const std::string& work_folder() const { return work_; }  // where to write the files
  // Replaces the old files by the new ones. A new dataset.json must be among them.
  void commit();

 private:
  void require_place(bool force) const;

  std::string folder_, work_;
  bool made_ = false;  // whether this object made the folder
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace dashlm
