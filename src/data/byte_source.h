// Files as streams of bytes. Gzip files are unpacked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace dashlm {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `bytes` > 0 bytes and returns their number; 0 at the end. Throws an Error that
  // names the file.
  virtual int64_t read(char* out, int64_t bytes) = 0;
};

// Gzip is recognised by its first bytes, and may consist of several members. Throws a bad_input
// Error when the file cannot be opened, or is named .gz and is not gzip. Reading throws, with the
// offset in the packed file, when gzip data is corrupt or cut short. Zeros after a member are
// passed over, as gzip(1) does, since tapes and tools that write whole blocks leave them.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

// A longer line is not one line of JSON, and would be held in memory several times.
inline constexpr int64_t kMaxLineBytes = int64_t{64} << 20;

// The lines of a file, without their newlines.
class LineReader {
 public:
  explicit LineReader(const std::string& path);

  // Reads the next line; false at the end. A line longer than kMaxLineBytes is cut to that length.
  bool next(std::string& line);
  int64_t line() const { return line_; }       // number of the last line returned, from 1
  bool too_long() const { return too_long_; }  // whether that line was cut

 private:
  bool fill();

  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t used_ = 0;
  int64_t line_ = 0;
  bool too_long_ = false;
};

// The whole of a file. Of a file that unpacks to more than `most` bytes, only a little more than
// `most` bytes are read.
std::string read_up_to(const std::string& path, int64_t most);

}  // namespace dashlm
