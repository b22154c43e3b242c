// Checks the files of a run directory beside its checkpoints.
#pragma once

#include <string>
#include <vector>

#include "io/file_check.h"

namespace dashlm {

// Checks that the run can go on with config.json, that every line of metrics.jsonl is an object,
// and that tokenizer.model, if there is one, is a tokenizer.
std::vector<FileCheck> check_run_files(const std::string& folder);

}  // namespace dashlm
