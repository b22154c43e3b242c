// The directory of a run's checkpoints: step_XXXXXXXX/ folders that exist whole or not at all.
//
// A checkpoint is written into a hidden folder beside the others. Its manifest.json, written last,
// lists every file with size and CRC-32; then the folder is renamed to its final name. A process
// killed at any moment therefore leaves the earlier checkpoints as they were, and perhaps a hidden
// folder that the next writer removes. What the files mean is the caller's business.
//
// Hidden folders: `.step_XXXXXXXX.PID-N.writing` is being written (its writer holds a lock on it,
// so that nobody takes it for a dead one's), `.step_XXXXXXXX.replaced` is a finished checkpoint in
// the moment between its removal and the arrival of its successor, and counts as long as
// step_XXXXXXXX is absent or unsound, `.step_XXXXXXXX.removed` is being deleted.
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

// A list of them as JSON text and back, to be sent from one process to another.
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

  // Starts a checkpoint for `step`; a finished one of the same step is replaced on commit. The
  // store must outlive the writer.
  std::unique_ptr<CheckpointWriter> begin(int64_t step);

  // Steps of the folders present, oldest first, whether sound or not.
  std::vector<int64_t> steps() const;
  // Folder of the newest checkpoint whose manifest, sizes and checksums agree, or "" when there is
  // none. Warns about each newer one that is passed over, with the reason.
  std::string newest_sound() const;
  // Throws a bad_input Error that names the file and what is wrong with it.
  static void verify(const std::string& folder);
  // The same for each file that the manifest lists, and for the manifest where that is unsound.
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
  // Files of a part, as the process that wrote them lists them.
  void add(const std::vector<CheckpointFile>& files);
  // Writes the manifest, renames the folder into place and removes older checkpoints beyond
  // `keep`; damaged ones do not count towards it, and those of later steps (left by a run that was
  // taken up again from an earlier one) stay. Returns the final folder.
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
