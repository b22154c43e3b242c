// What lies at the path of a run directory, looked at before anything is written there.
//
// A run directory is one with a metrics.jsonl, with checkpoints/step_XXXXXXXX, or with both a
// config.json and a checkpoints/ without anything else in it: all that a run killed early leaves.
#pragma once

#include <string>

namespace dashlm {

// What `train` does with the directory it is given.
enum class RunStart {
  anew,             // begins a run where there is none
  resume,           // goes on with the run that is there
  resume_or_start,  // goes on with the run that is there, or begins one
};

// Throws a bad_input Error that names what was found unless `start` can be done at `path`. Nobody
// may begin a run in a checkpoint, among checkpoints (a run removes old ones), in the folder of a
// model, or over a config.json that no run wrote.
void require_place_for_run(const std::string& path, RunStart start);

// Whether `path` is the config.json of a run directory, which a run has written about itself.
bool is_config_of_run(const std::string& path);

}  // namespace dashlm
