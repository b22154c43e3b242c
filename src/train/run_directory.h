// Checks the place of a run directory before anything is written there.
//
// A run directory has a metrics.jsonl, or a checkpoints/step_XXXXXXXX, or a config.json and a
// checkpoints/ with nothing else in it. A run killed early leaves only the last two.
#pragma once

#include <string>

namespace dashlm {

// How `train` uses the directory that it is given.
enum class RunStart {
  anew,             // begins a run where there is none
  resume,           // goes on with the run that is there
  resume_or_start,  // goes on with the run that is there, or begins one
};

// Throws a bad_input Error that describes the content of `path` unless `start` is possible there. A
// run cannot begin in a checkpoint, among checkpoints (a run removes old ones), in the folder of a
// model, or over a config.json that no run wrote.
void require_place_for_run(const std::string& path, RunStart start);

// Whether `path` is the config.json of a run directory, written by the run itself.
bool is_config_of_run(const std::string& path);

}  // namespace dashlm
