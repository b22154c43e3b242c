// What a check of a file on disk found.
#pragma once

#include <string>

namespace dashlm {

struct FileCheck {
  std::string path;
  std::string problem;  // a sentence that names the file; "" when it is sound
  std::string content;  // of a sound one: "1000 tokens, the largest id is 99"
};

}  // namespace dashlm
