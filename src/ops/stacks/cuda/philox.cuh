// The random numbers of base/random.h in kernels: the same bits for the same (seed, purpose, step,
// element).
#pragma once

#include <cstdint>

#include "base/random.h"

namespace dashlm::cuda {

// Passed to kernels by value.
class DeviceRandom {
 public:
  DeviceRandom(uint64_t seed, Purpose purpose, uint64_t step)
      : key_(mix(mix(seed) ^ static_cast<uint64_t>(purpose))), step_(step) {}

  // CounterRandom::bits(): the first two words of Philox4x32-10.
  __device__ uint64_t bits(uint64_t element) const {
    uint32_t x0 = low(element), x1 = high(element), x2 = low(step_), x3 = high(step_);
    uint32_t key0 = low(key_), key1 = high(key_);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * x0, p1 = uint64_t{0xCD9E8D57} * x2;
      x0 = high(p1) ^ x1 ^ key0;
      x1 = low(p1);
      x2 = high(p0) ^ x3 ^ key1;
      x3 = low(p0);
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    return (static_cast<uint64_t>(x0) << 32) | x1;
  }

 private:
  static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  __device__ static uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
  __device__ static uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

  uint64_t key_;
  uint64_t step_;
};

}  // namespace dashlm::cuda
