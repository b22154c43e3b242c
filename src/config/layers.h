// A config made of layers: the files it extends, the file itself, and the command line.
//
// The keys of a layer win over the keys of the layers before it. Objects are merged key by key. A
// layer that gives an object another "type" drops the object's keys of earlier layers, since these
// keys belong to the other type. A note says so.
//
// Every key knows its origin. Errors therefore blame the layer that holds the key, and relative
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
  std::string folder;  // relative paths start from it; "": the current folder
  int layer = 0;       // later ones win

  std::string where() const;  // "configs/a.json:12"
};

struct ConfigLayers {
  Json json = Json::object();
  std::map<std::string, Origin> origins;  // of keys by path, "a.list[0].key"; "" is the whole
  std::vector<std::string> notes;         // sentences about keys that were dropped
  int layers = 0;

  // The origin of the key itself; if it has none, the origin of the object that holds it.
  const Origin& origin_of(std::string path) const;
};

// Loads a JSON file, in which comments are allowed. "extends" names the layers under it:
// "other.json", relative to the file, or a list of names. Errors name file, line and column.
ConfigLayers load_config_layers(const std::string& path);

// Adds one layer for each "section.key=value". Later ones win. A value is JSON, or else a string. A
// value that begins like an object or a list must be valid JSON.
void apply_overrides(ConfigLayers& layers, const std::vector<std::string>& assignments);

// Like read_config() of JSON, with the origins of keys in errors. Adds to the layers' notes.
// `describe_new` must describe a new struct each time, since it is called with every type to learn
// all keys.
void read_config(ConfigLayers& layers, const Describe& describe, const Describe& describe_new);

}  // namespace dashlm
