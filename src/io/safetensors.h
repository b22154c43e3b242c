// The safetensors file format: a JSON header with names, types, shapes and offsets, then the data.
// https://huggingface.co/docs/safetensors: 8 bytes little-endian header length, header, data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "io/file.h"
#include "tensor/tensor.h"

namespace dashlm {

// One entry of a file.
struct SafetensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  int64_t offset = 0;  // bytes from the start of the file
  int64_t bytes = 0;
};

class SafetensorsReader {
 public:
  // Reads and checks the header: ranges lie inside the file, sizes fit shapes, nothing overlaps,
  // and every byte belongs to a tensor, as the format demands. Throws a bad_input Error that names
  // the file and the tensor.
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // `host` receives the elements of tensor `name`. Throws unless the file holds the tensor with
  // this type and shape; the error names file, tensor and both shapes.
  void read(const std::string& name, DType dtype, const Shape& shape, void* host) const;
  // The elements of an entry of any floating-point type, converted to float, in the order of the
  // file.
  std::vector<float> read_f32(const std::string& name) const;

 private:
  const SafetensorsEntry& find(const std::string& name) const;

  FileReader file_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// One tensor to be written. `data` is host memory that must live until write_safetensors() returns,
// or a function that fills a buffer with the elements. With functions, only the largest tensor
// needs memory.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::variant<const void*, std::function<void(void*)>> data;
};

// Writes header and data in the given order. The data begins at a multiple of 64 bytes.
void write_safetensors(FileWriter& file, const std::vector<SafetensorsItem>& items,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace dashlm
