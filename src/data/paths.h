// Expands the paths that a user writes (files, directories, globs) to files.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dashlm {

// The files named by `paths`, in the order of `paths` and sorted by name within each. A path is a
// file, a directory or a pattern with * ? or [ for glob(3). A directory stands for its own files
// whose name `accept` accepts, without folders below it. A pattern stands for its matches that are
// not directories. Throws a bad_input Error when a path is missing, a pattern or directory yields
// no file, or a file is named twice. `what` names the wanted files in errors: "token files".
std::vector<std::string> expand_paths(const std::vector<std::string>& paths,
                                      const std::function<bool(const std::string& name)>& accept,
                                      const std::string& what);

// The last component of a path.
std::string base_name(const std::string& path);

}  // namespace dashlm
