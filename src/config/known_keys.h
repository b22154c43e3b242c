// All keys a description has, whatever types are chosen, so that an unknown key can be told from
// one of another type, and its nearest be found anywhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace dashlm {

// By dotted path: the types of the enclosing object that have the key; none if all have it.
//   {"train.lr": {}, "optimizer.beta2": {"adamw"}, "optimizer.groups[].match": {}}
using KnownKeys = std::map<std::string, std::vector<std::string>>;

// `describe_new` must describe a struct of its own each time it is called.
KnownKeys known_keys(const Describe& describe_new);

// The known path nearest to `path`, preferring its own object; "" when none is near. `present` are
// those that the chosen types have.
std::string nearest_key(const std::string& path, const KnownKeys& known,
                        const std::vector<std::string>& present);

}  // namespace dashlm
