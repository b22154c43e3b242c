// Reads datasets and token files from end to end, and compares them with their headers and lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file_check.h"

namespace dashlm {

// Checks one token file: its header and size, the checksum in the header, and that every token is
// below `vocab_size`. 0 takes the vocabulary size of the header, if there is one.
FileCheck verify_token_file(const std::string& path, int64_t vocab_size);

// Checks token files named as for training (files, folders, patterns). If a dataset.json lists a
// file, its size and checksum there are checked too, and the dataset must be whole.
std::vector<FileCheck> verify_token_files(const std::vector<std::string>& paths,
                                          int64_t vocab_size);

// Checks all files of the dataset in a folder: the files that dataset.json lists, and the
// tokenizer.
std::vector<FileCheck> verify_dataset(const std::string& folder);

}  // namespace dashlm
