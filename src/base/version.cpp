#include "base/version.h"

namespace dashlm {

const char* version() {
  return DASHLM_VERSION;
}

}  // namespace dashlm
