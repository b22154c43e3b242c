// A config as its layers make it: the file, those it extends, and the command line over them.
//
// Each layer's keys win over those of the layers before it, objects being merged key by key. A
// layer that gives an object another "type" drops what the layers before it say about that object,
// since those keys are the other type's; a note says so.
//
// Every key knows where it comes from, so that errors blame the layer that holds it and relative
// paths start from the right folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace dashlm {

struct Origin {
  std::string source;  // "configs/a.json", "--set 'train.lr=0.1'"
  int64_t line = 0;    // of the file; 0: none
  std::string folder;  // that relative paths start from; "": the current one
  int layer = 0;       // later ones win

  std::string where() const;  // "configs/a.json:12"
};

struct ConfigLayers {
  Json json = Json::object();
  std::map<std::string, Origin> origins;  // of keys by path, "a.list[0].key"; "" is the whole
  std::vector<std::string> notes;         // sentences about keys that were dropped
  int layers = 0;

  // Of the key itself, else of the object it is in.
  const Origin& origin_of(std::string path) const;
};

// A JSON file (comments allowed). "extends": "other.json" (relative to the file, or a list of such
// names) names the layers under it. Errors name file, line and column.
ConfigLayers load_config_layers(const std::string& path);

// Adds one layer of "section.key=value" each, of which later ones win. A value is JSON, or else
// taken as a string; what begins as an object or a list must be valid.
void apply_overrides(ConfigLayers& layers, const std::vector<std::string>& assignments);

// read_config() of layers; adds to their notes. `describe_new` must describe a struct of its own
// each time, as it tries all types to know all keys.
void read_config(ConfigLayers& layers, const Describe& describe, const Describe& describe_new);

}  // namespace dashlm
