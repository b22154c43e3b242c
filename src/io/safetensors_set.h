// One or several safetensors files that together hold one set of tensors.
//
// The files are named STEM.safetensors, or STEM-00001-of-00004.safetensors and so on, as Hugging
// Face names the parts of a model.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/safetensors.h"

namespace dashlm {

// The name of part `index` (from 0) of `count` parts; STEM.safetensors if `count` is 1.
std::string safetensors_part_name(const std::string& stem, int index, int count);

class SafetensorsSet {
 public:
  // Throws a bad_input Error that names a part that is missing or left over, or a tensor that is in
  // two parts.
  SafetensorsSet(const std::string& folder, const std::string& stem);

  std::string path() const { return folder_ + "/" + stem_ + "*.safetensors"; }  // for messages
  int64_t size() const { return std::ssize(parts_of_); }                        // tensors
  bool contains(const std::string& name) const { return parts_of_.contains(name); }
  std::vector<std::string> names() const;
  // Like SafetensorsReader::read().
  void read(const std::string& name, DType dtype, const Shape& shape, void* host) const;
  // Reads a tensor of any floating-point type, converted to float.
  std::vector<float> read_f32(const std::string& name, const Shape& shape) const;

 private:
  const SafetensorsReader& part_with(const std::string& name) const;

  const std::string folder_, stem_;
  std::vector<std::unique_ptr<SafetensorsReader>> parts_;
  std::map<std::string, const SafetensorsReader*> parts_of_;  // by tensor
};

}  // namespace dashlm
