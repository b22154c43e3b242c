// From the paths a user writes (files, directories, globs) to the files they stand for.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dashlm {

// The files named by `paths`, in the order of `paths` and sorted by name within each. A path is a
// file, a directory (its files whose name `accept`s, not those in folders below it) or a pattern
// with * ? or [ for glob(3), of whose matches the directories are passed over. Throws a bad_input
// Error when a path is missing, a pattern or directory yields no file, or a file is named twice.
// `what` says in errors what is looked for: "token files".
std::vector<std::string> expand_paths(const std::vector<std::string>& paths,
                                      const std::function<bool(const std::string& name)>& accept,
                                      const std::string& what);

// The last component of a path.
std::string base_name(const std::string& path);

}  // namespace dashlm
