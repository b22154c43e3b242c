// Whether the files that a run directory holds beside its checkpoints are as a run leaves them.
#pragma once

#include <string>
#include <vector>

#include "io/file_check.h"

namespace dashlm {

// config.json, which must be one that the run can go on with; metrics.jsonl, every line of which
// must be an object; tokenizer.model, if there is one.
std::vector<FileCheck> check_run_files(const std::string& folder);

}  // namespace dashlm
