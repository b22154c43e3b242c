// All keys of a description, for every choice of types. With them an unknown key can be told from a
// key of another type, and the nearest known key is found wherever it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace dashlm {

// Maps a dotted path to the types of the enclosing object that have the key; the list is empty if
// all types have it.
//   {"train.lr": {}, "optimizer.beta2": {"adamw"}}
using KnownKeys = std::map<std::string, std::vector<std::string>>;

// `describe_new` must describe a struct of its own each time it is called.
KnownKeys known_keys(const Describe& describe_new);

// The known path nearest to `path`, preferring its own object; "" when none is near. `present` are
// the paths of the chosen types.
std::string nearest_key(const std::string& path, const KnownKeys& known,
                        const std::vector<std::string>& present);

}  // namespace dashlm
