// Texts for the tests: the same ones on every machine.
#pragma once

#include <string>

#include "base/random.h"

namespace dashlm::test {

// About `words` words of mock English, a function of `number` alone.
inline std::string prose(int64_t number, int64_t words) {
  static const char* kStems[] = {"the",    "a",     "of",       "model", "train", "gradient",
                                 "block",  "and",   "to",       "in",    "step",  "root",
                                 "matrix", "learn", "rate",     "shape", "from",  "token",
                                 "data",   "order", "caf\u00e9"};
  static const char* kEndings[] = {"", "", "", "s", "ing", "ed", "er"};
  const CounterRandom random(17, Purpose::test, static_cast<uint64_t>(number));
  std::string text;
  for (int64_t i = 0; i < words; ++i) {
    const auto element = static_cast<uint64_t>(4 * i);
    text += kStems[random.below(std::size(kStems), element)];
    text += kEndings[random.below(std::size(kEndings), element + 1)];
    text += random.below(12, element + 2) == 0 ? ".\n" : " ";
    if (random.below(40, element + 3) == 0) text += std::to_string(i * 37) + " ";
  }
  return text;
}

}  // namespace dashlm::test
