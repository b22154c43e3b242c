#include "train/master_weights.h"

#include <algorithm>
#include <vector>

namespace dashlm {
namespace {

// The memory from a block's first element to its last, with the elements between its rows. One copy
// of it is quicker than a copy of each row.
Tensor span_of(const Tensor& own_weights, const BlockPlace& place) {
  return own_weights.rows(place.offset, (place.rows - 1) * place.row_stride + place.cols);
}

std::vector<float> download(Device& device, const Tensor& span) {
  std::vector<float> host(static_cast<size_t>(span.elements()));
  device.download(host.data(), span.data, span.bytes());
  return host;
}

}  // namespace

void download_block(Device& device, const Tensor& own_weights, const BlockPlace& place,
                    float* host) {
  const std::vector<float> span = download(device, span_of(own_weights, place));
  for (int64_t i = 0; i < place.rows; ++i) {
    std::copy_n(span.data() + i * place.row_stride, place.cols, host + i * place.cols);
  }
}

void upload_block(Device& device, const Tensor& own_weights, const BlockPlace& place,
                  const float* host) {
  const Tensor on_device = span_of(own_weights, place);
  std::vector<float> span = download(device, on_device);
  for (int64_t i = 0; i < place.rows; ++i) {
    std::copy_n(host + i * place.cols, place.cols, span.data() + i * place.row_stride);
  }
  device.upload(on_device.data, span.data(), on_device.bytes());
}

}  // namespace dashlm
