// Largest magnitudes, found as integers.
#pragma once

#include <bit>
#include <cstdint>

namespace dashlm::cpu {

// Bits of |x|. As integers they are ordered like magnitudes, with NaN above infinity, so that a
// maximum over them finds whatever is wrong.
inline uint32_t magnitude_bits(float x) {
  return std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu;
}

}  // namespace dashlm::cpu
