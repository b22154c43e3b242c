// What every operation is given: where to run, and memory for intermediate results.
//
// In planning mode the scratch arena is measuring: operations check shapes, take scratch and count
// floating-point operations, but compute nothing. Running a model once in this mode gives its
// memory plan and its FLOPs.
#pragma once

#include "tensor/arena.h"

namespace dashlm {

struct Context {
  Device& device;
  Arena& scratch;
  // Of matrix products and attention, a multiply-add counting as two: those of the mathematics, not
  // those made again to save memory.
  double flops = 0;

  bool planning() const { return scratch.measuring(); }
};

}  // namespace dashlm
