#include "base/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dashlm {
namespace {

// The finaliser of SplitMix64: spreads (seed, purpose) over the whole 64-bit key.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

double to_unit_interval(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

// The two halves of Box-Muller, for uniforms in [0, 1).
double radius(double uniform) {
  return std::sqrt(-2.0 * std::log1p(-uniform));
}

double cosine(double uniform) {
  return std::cos(2.0 * std::numbers::pi * uniform);
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMultiplier0 * counter[0];
    const uint64_t p1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

CounterRandom::CounterRandom(uint64_t seed, Purpose purpose, uint64_t step) : step_(step) {
  const uint64_t key = mix(mix(seed) ^ static_cast<uint64_t>(purpose));
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
}

std::array<uint32_t, 4> CounterRandom::block(uint64_t element) const {
  return philox4x32_10({static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
                        static_cast<uint32_t>(step_), static_cast<uint32_t>(step_ >> 32)},
                       key_);
}

uint64_t CounterRandom::bits(uint64_t element) const {
  const auto b = block(element);
  return (static_cast<uint64_t>(b[0]) << 32) | b[1];
}

double CounterRandom::uniform(uint64_t element) const {
  const auto b = block(element);
  return to_unit_interval(b[0], b[1]);
}

double CounterRandom::normal(uint64_t element) const {
  const auto b = block(element);
  return radius(to_unit_interval(b[0], b[1])) * cosine(to_unit_interval(b[2], b[3]));
}

// Each loop does one kind of arithmetic: the compiler vectorises the generator, and the processor
// foresees the branches of one function better than the branches of two in turn.
void CounterRandom::fill_normal(std::span<float> out, double deviation, uint64_t first) const {
  constexpr size_t kChunk = 256;
  std::array<double, kChunk> radii, cosines;
  for (size_t begin = 0; begin < out.size(); begin += kChunk) {
    const size_t count = std::min(kChunk, out.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const auto b = block(first + begin + i);
      radii[i] = to_unit_interval(b[0], b[1]);
      cosines[i] = to_unit_interval(b[2], b[3]);
    }
    for (size_t i = 0; i < count; ++i) radii[i] = radius(radii[i]);
    for (size_t i = 0; i < count; ++i) cosines[i] = cosine(cosines[i]);
    for (size_t i = 0; i < count; ++i) {
      out[begin + i] = static_cast<float>(deviation * (radii[i] * cosines[i]));
    }
  }
}

uint64_t CounterRandom::below(uint64_t bound, uint64_t element) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(bits(element)) * bound) >> 64);
}

}  // namespace dashlm
