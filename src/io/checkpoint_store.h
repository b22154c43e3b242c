// The directory of a run's checkpoints. A folder step_XXXXXXXX/ exists whole or not at all.
//
// A checkpoint is written into a hidden folder beside the others. Its manifest.json comes last and
// lists every file with size and CRC-32. Then the folder is renamed to its final name. A process
// killed at any moment therefore leaves the earlier checkpoints as they were, and perhaps a hidden
// folder that the next writer removes. The caller decides which files a checkpoint has.
//
// There are three kinds of hidden folders. `.step_XXXXXXXX.PID-N.writing` is being written. Its
// writer holds a lock on it, so that nobody takes it for a dead process's.
// `.step_XXXXXXXX.replaced` is a finished checkpoint in the moment between its removal and the
// arrival of its successor. It counts as long as step_XXXXXXXX is absent or unsound.
// `.step_XXXXXXXX.removed` is being deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/file_check.h"

namespace dashlm {

// One file of a checkpoint as its manifest lists it.
struct CheckpointFile {
  std::string name;
  int64_t bytes = 0;
  uint32_t crc = 0;
};

// Converts a list of files to JSON text and back, to send it from one process to another.
std::string checkpoint_files_text(const std::vector<CheckpointFile>& files);
std::vector<CheckpointFile> checkpoint_files_from(const std::string& text);

// Files that one process writes into the folder of an unfinished checkpoint. Processes that share
// the file system may write parts of one checkpoint side by side, under different names.
class CheckpointPart {
 public:
  explicit CheckpointPart(std::string folder) : folder_(std::move(folder)) {}

  // Writes one file, whose content `body` provides.
  void write(const std::string& name, const std::function<void(FileWriter&)>& body);
  void write_text(const std::string& name, const std::string& text);
  const std::vector<CheckpointFile>& files() const { return files_; }

 private:
  std::string folder_;
  std::vector<CheckpointFile> files_;
};

class CheckpointWriter;

class CheckpointStore {
 public:
  // `directory` need not exist yet. `keep` is the number of newest checkpoints that stay, at
  // least 1.
  CheckpointStore(std::string directory, int64_t keep);

  // Starts a checkpoint for `step`. commit() replaces a finished checkpoint of the same step. The
  // store must outlive the writer.
  std::unique_ptr<CheckpointWriter> begin(int64_t step);

  // The steps of the folders present, oldest first, sound or not.
  std::vector<int64_t> steps() const;
  // The folder of the newest checkpoint whose manifest, sizes and checksums agree; "" if there is
  // none. Warns about each newer checkpoint that is passed over, with the reason.
  std::string newest_sound() const;
  // Throws a bad_input Error that names the file and its fault.
  static void verify(const std::string& folder);
  // Checks each file that the manifest lists, and the manifest if it is unsound.
  static std::vector<FileCheck> check(const std::string& folder);

 private:
  friend class CheckpointWriter;
  void clean_up() const;
  std::string install(const std::string& hidden, int64_t step) const;
  void remove_old(int64_t newest) const;

  std::string directory_;
  int64_t keep_;
};

class CheckpointWriter {
 public:
  ~CheckpointWriter();  // without commit(): removes what was written

  const std::string& folder() const { return folder_; }  // for CheckpointPart
  // Adds the files of a part, as listed by the process that wrote them.
  void add(const std::vector<CheckpointFile>& files);
  // Writes the manifest, renames the folder into place and removes older checkpoints beyond `keep`.
  // Damaged checkpoints do not count towards `keep`. Checkpoints of later steps stay; a run that
  // resumed from an earlier step leaves them. Returns the final folder.
  std::string commit();

 private:
  friend class CheckpointStore;
  CheckpointWriter(CheckpointStore& store, int64_t step);

  CheckpointStore& store_;
  int64_t step_;
  std::string folder_;  // "" once committed
  int lock_ = -1;       // descriptor of folder_, locked
  std::vector<CheckpointFile> files_;
};

}  // namespace dashlm
