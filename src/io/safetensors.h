// The safetensors file format: a JSON header with names, types, shapes and offsets, then the data.
// https://huggingface.co/docs/safetensors: 8 bytes little-endian header length, header, data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
  // Reads and checks the header: ranges inside the file, sizes that fit shapes, no overlaps. Throws
  // a bad_input Error that names the file and the tensor.
  explicit SafetensorsReader(const std::string& path);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Throws, naming file, tensor and both shapes, unless the file holds `name` with this type and
  // shape. `host` receives the elements.
  void read(const std::string& name, DType dtype, const Shape& shape, void* host) const;
  // Any floating-point entry, converted to float; the order is that of the file.
  std::vector<float> read_f32(const std::string& name) const;

 private:
  std::string path_;
  int file_ = -1;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// One tensor to be written: host memory that must live until write_safetensors() returns.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  const void* host = nullptr;
};

class FileWriter;

// Writes header and data in the order given.
void write_safetensors(FileWriter& file, const std::vector<SafetensorsItem>& items,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace dashlm
