// Datasets and token files read from end to end, and compared with what they say about themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file_check.h"

namespace dashlm {

// One token file: its header and size, the checksum in the header, and that every token is below
// `vocab_size` (0: below what the header says, where it says so).
FileCheck verify_token_file(const std::string& path, int64_t vocab_size);

// The same of token files named as for training (files, folders, patterns); where dataset.json
// lists one, its size and checksum there too. A dataset of which files are named must be whole.
std::vector<FileCheck> verify_token_files(const std::vector<std::string>& paths,
                                          int64_t vocab_size);

// All files of the dataset in a folder: what dataset.json lists, and the tokenizer.
std::vector<FileCheck> verify_dataset(const std::string& folder);

}  // namespace dashlm
