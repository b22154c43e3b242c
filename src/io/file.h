// Files that are written whole or not at all.
#pragma once

#include <cstdint>
#include <string>

namespace dashlm {

// Writes under a temporary name beside the target. commit() flushes to disk and renames. Without
// commit() the temporary file is removed and the target is left as it was. Every failure (disk
// full, no permission) is a runtime_failure Error that names the target. It removes the temporary
// file, and the writer must not be used again.
class FileWriter {
 public:
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(const void* data, int64_t bytes);
  void commit();

  int64_t bytes() const { return bytes_; }
  uint32_t crc32() const { return crc_; }  // zlib's CRC-32 of the bytes written
  const std::string& path() const { return path_; }

 private:
  void discard();                            // closes and removes the temporary file
  [[noreturn]] void fail(const char* what);  // discards, then throws with errno's text

  std::string path_, temporary_;
  int file_ = -1;
  int64_t bytes_ = 0;
  uint32_t crc_ = 0;
};

// Reads a regular file at any offset. Every failure is a bad_input Error that names the file.
class FileReader {
 public:
  explicit FileReader(std::string path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Reads `bytes` bytes from `offset` on. Throws when the file ends before them.
  void read_at(int64_t offset, void* to, int64_t bytes) const;

  int64_t bytes() const { return bytes_; }  // size when it was opened
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_ = -1;
  int64_t bytes_ = 0;
};

bool path_exists(const std::string& path);  // false too without permission to look
// The folder of a file; "." for a bare name.
std::string folder_of(const std::string& path);

void write_text_file(const std::string& path, const std::string& text);  // atomically
std::string read_text_file(const std::string& path);  // bad_input Error when it cannot be read
uint32_t crc32_of_file(const std::string& path);
// zlib's CRC-32, continued from `crc`. A first call takes 0.
uint32_t crc32_of_bytes(const void* data, int64_t bytes, uint32_t crc = 0);

// Keeps other processes out of a directory while the object lives. The system lifts the lock when
// the process ends, however it ends. Throws a bad_input Error when another process holds the lock.
// Has no effect on file systems without locks.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int directory_ = -1;
};

// Flushes a directory's entries to disk, so that renames within it survive a power failure.
void sync_directory(const std::string& path);

}  // namespace dashlm
