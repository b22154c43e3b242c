// Paths that people write in configs and on the command line.
#pragma once

#include <string>

namespace dashlm {

// `text` itself if it is UTF-8 without control characters; otherwise each other byte becomes
// xNN.
std::string printable(const std::string& text);
// Throws a bad_input Error unless `text` is UTF-8, as all JSON files must be; `what` names it.
void require_utf8(const std::string& text, const std::string& what);

// "~/x" with the home directory in place of "~". Throws for "~user/x", which only a shell knows.
std::string expand_home(const std::string& path, const std::string& what);

// The absolute path of `path` in `folder` ("" is the current folder), without "." and ".."; ""
// stays "". If `pattern`, the characters * ? [ of the folder are escaped.
std::string resolve_path(const std::string& path, const std::string& folder,
                         const std::string& what, bool pattern = false);

}  // namespace dashlm
