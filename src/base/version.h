// The version of this program.
#pragma once

namespace dashlm {

const char* version();  // such as "1.2.3"; CMakeLists.txt has it

}  // namespace dashlm
