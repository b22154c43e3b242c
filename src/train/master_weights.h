// Copies the f32 weights of a rank's own blocks to and from the host, one block at a time. A
// checkpoint keeps them beside a model whose weights are rounded.
#pragma once

#include "device/device.h"
#include "optim/blocks/block_layout.h"

namespace dashlm {

// `host` has place.elements() floats, row by row. `own_weights` are flat, f32, and on the device.
void download_block(Device& device, const Tensor& own_weights, const BlockPlace& place,
                    float* host);
void upload_block(Device& device, const Tensor& own_weights, const BlockPlace& place,
                  const float* host);

}  // namespace dashlm
