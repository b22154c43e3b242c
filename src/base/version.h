// The version of this program.
#pragma once

namespace dashlm {

const char* version();  // "0.1.0"

}  // namespace dashlm
