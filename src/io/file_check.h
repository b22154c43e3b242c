// The result of checking a file on disk.
#pragma once

#include <string>

namespace dashlm {

struct FileCheck {
  std::string path;
  std::string problem;  // a sentence that names the file; "" when it is sound
  std::string content;  // of a sound file: "1000 tokens, the largest id is 99"
};

}  // namespace dashlm
