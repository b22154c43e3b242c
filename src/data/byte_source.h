// Files as streams of bytes, unpacked where they are gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace dashlm {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `bytes` > 0 bytes; 0 at the end. Throws an Error that names the file.
  virtual int64_t read(char* out, int64_t bytes) = 0;
};

// Gzip is recognised by its first bytes, and may consist of several members. Throws a bad_input
// Error when the file cannot be opened, or is named .gz and is not gzip. Reading throws, with the
// offset in the packed file, when gzip data is corrupt or cut short.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

// The lines of a ByteSource, without their newlines.
class LineReader {
 public:
  explicit LineReader(const std::string& path);

  // The next line; false at the end. Throws when a line is longer than kMaxDocumentBytes.
  bool next(std::string& line);
  int64_t line() const { return line_; }  // number of the last line returned, from 1

 private:
  bool fill();

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t used_ = 0;
  int64_t line_ = 0;
};

// The whole of a file; throws when it unpacks to more than kMaxDocumentBytes.
std::string read_all(const std::string& path);

// What is larger is not one document, and would be held in memory several times.
inline constexpr int64_t kMaxDocumentBytes = int64_t{64} << 20;

}  // namespace dashlm
