#include "io/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <filesystem>
#include <sstream>

#include "base/log.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "unit/io/limits.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::expect_bad_input;
using testing::expect_runtime_failure;
using testing::FileSizeLimit;
using ::testing::HasSubstr;
using testing::TempFolder;
using testing::WithoutRoot;

// Everything that is logged while it lives.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::string text() const {
    spdlog::default_logger()->flush();
    return text_.str();
  }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

void add(CheckpointWriter& writer, const std::string& name, const std::string& content) {
  CheckpointPart part(writer.folder());
  part.write_text(name, content);
  writer.add(part.files());
}

std::string save(CheckpointStore& store, int64_t step, const std::string& content = "weights") {
  const auto writer = store.begin(step);
  add(*writer, "state.bin", content);
  add(*writer, "step.json", std::to_string(step));
  return writer->commit();
}

class CheckpointStoreTest : public ::testing::Test {
 protected:
  std::string step(int64_t n) const { return directory_ + fmt::format("/step_{:08d}", n); }
  std::string hidden(int64_t n, const std::string& suffix) const {
    return directory_ + fmt::format("/.step_{:08d}.{}", n, suffix);
  }

  TempFolder folder_;
  std::string directory_ = folder_ / "run/checkpoints";
  CheckpointStore store_{directory_, 2};
};

// --- the normal course --------------------------------------------------------------------------

TEST_F(CheckpointStoreTest, AMissingDirectoryHoldsNothing) {
  EXPECT_THAT(store_.steps(), ElementsAre());
  EXPECT_EQ(store_.newest_sound(), "");
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(CheckpointStoreTest, SavesAndFinds) {
  EXPECT_EQ(save(store_, 7), step(7));
  EXPECT_EQ(store_.newest_sound(), step(7));
  CheckpointStore::verify(step(7));
  EXPECT_EQ(read_text_file(step(7) + "/state.bin"), "weights");
  EXPECT_EQ(TempFolder::names_in(step(7)),
            (std::set<std::string>{"manifest.json", "state.bin", "step.json"}));
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000007"});
}

TEST_F(CheckpointStoreTest, ManifestListsNamesSizesAndChecksums) {
  save(store_, 7, "123456789");
  const std::string manifest = read_text_file(step(7) + "/manifest.json");
  EXPECT_THAT(manifest, HasSubstr("\"state.bin\""));
  EXPECT_THAT(manifest, HasSubstr("\"cbf43926\""));  // CRC-32's check value
  EXPECT_THAT(manifest, HasSubstr("\"bytes\": 9"));
}

TEST_F(CheckpointStoreTest, KeepsTheNewest) {
  for (const int64_t n : {5, 10, 15, 123456789}) save(store_, n);
  EXPECT_THAT(store_.steps(), ElementsAre(15, 123456789));
  EXPECT_EQ(store_.newest_sound(), directory_ + "/step_123456789");
  EXPECT_EQ(TempFolder::names_in(directory_).size(), 2u);
}

TEST_F(CheckpointStoreTest, KeepMustBePositive) {
  expect_bad_input({directory_, "0"}, [&] { CheckpointStore store(directory_, 0); });
}

TEST_F(CheckpointStoreTest, WithoutCommitNothingIsLeft) {
  save(store_, 1);
  {
    const auto writer = store_.begin(2);
    add(*writer, "state.bin", "half");
    CheckpointPart part(writer->folder());
    part.write_text("more.bin", "never added");
  }
  EXPECT_THAT(store_.steps(), ElementsAre(1));
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
}

TEST_F(CheckpointStoreTest, ReplacesTheSameStep) {
  save(store_, 1, "first");
  save(store_, 1, "second");
  EXPECT_EQ(store_.newest_sound(), step(1));
  EXPECT_EQ(read_text_file(step(1) + "/state.bin"), "second");
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
}

TEST_F(CheckpointStoreTest, WrongUseIsAnError) {
  const auto writer = store_.begin(1);
  add(*writer, "a", "x");
  expect_runtime_failure({"'a'", "twice"}, [&] { add(*writer, "a", "y"); });
  CheckpointPart part(writer->folder());
  for (const char* name : {"", "../a", "b/c", "manifest.json", ".."}) {
    expect_runtime_failure({name}, [&] { part.write_text(name, "x"); });
  }
  writer->commit();
  expect_runtime_failure({"twice"}, [&] { writer->commit(); });
  expect_bad_input({"-1"}, [&] { store_.begin(-1); });
}

TEST_F(CheckpointStoreTest, StrangersInTheDirectoryAreIgnored) {
  save(store_, 1);
  for (const char* name : {"step_1", "step_0000000x", "best", "step_00000002.old", ".step_"}) {
    fs::create_directory(directory_ + "/" + name);
  }
  EXPECT_THAT(store_.steps(), ElementsAre(1));
  save(store_, 2);
  EXPECT_EQ(TempFolder::names_in(directory_).size(), 7u);
}

// Processes write parts side by side; one of them, which knows of all, commits.
TEST_F(CheckpointStoreTest, IsMadeOfPartsOfSeveralProcesses) {
  const auto writer = store_.begin(3);
  CheckpointPart first(writer->folder()), second(writer->folder());
  second.write_text("b", "two");
  first.write_text("a", "one");
  first.write_text("c", "");
  for (const CheckpointPart* part : {&first, &second}) {
    writer->add(checkpoint_files_from(checkpoint_files_text(part->files())));
  }
  EXPECT_EQ(writer->commit(), step(3));
  EXPECT_EQ(store_.newest_sound(), step(3));
  write_text_file(step(3) + "/b", "twO");
  EXPECT_EQ(store_.newest_sound(), "");
}

// --- damage -------------------------------------------------------------------------------------

class DamagedCheckpoint : public CheckpointStoreTest {
 protected:
  void SetUp() override {
    save(store_, 1);
    save(store_, 2);
    file_ = step(2) + "/state.bin";
    manifest_ = step(2) + "/manifest.json";
  }

  // The second checkpoint must be passed over, with a warning that names it and says why.
  void expect_fallback(const std::vector<std::string>& reason) {
    const CapturedLog log;
    EXPECT_EQ(store_.newest_sound(), step(1));
    for (const std::string& part : reason) EXPECT_THAT(log.text(), HasSubstr(part));
    EXPECT_THAT(log.text(), HasSubstr("warning"));
    EXPECT_THAT(log.text(), HasSubstr(step(2)));
    expect_bad_input(reason, [&] { CheckpointStore::verify(step(2)); });
  }

  std::string file_, manifest_;
};

TEST_F(DamagedCheckpoint, SoundOneIsNotWarnedAbout) {
  const CapturedLog log;
  EXPECT_EQ(store_.newest_sound(), step(2));
  EXPECT_EQ(log.text(), "");
}

TEST_F(DamagedCheckpoint, EveryFlippedBitOfAFileIsFound) {
  const std::string sound = read_text_file(file_);
  for (size_t bit = 0; bit < 8 * sound.size(); ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_text_file(file_, damaged);
    expect_fallback({file_, "CRC-32"});
  }
}

TEST_F(DamagedCheckpoint, EveryFlippedBitOfTheManifestIsFound) {
  const std::string sound = read_text_file(manifest_);
  for (size_t bit = 0; bit < 8 * sound.size(); bit += 3) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_text_file(manifest_, damaged);
    expect_fallback({manifest_, "damaged"});
  }
}

TEST_F(DamagedCheckpoint, TruncatedFile) {
  fs::resize_file(file_, 3);
  expect_fallback({file_, "3 bytes", "says 7"});
}

TEST_F(DamagedCheckpoint, LongerFile) {
  fs::resize_file(file_, 8);
  expect_fallback({file_, "8 bytes", "says 7"});
}

TEST_F(DamagedCheckpoint, MissingFile) {
  fs::remove(file_);
  expect_fallback({file_, "No such file"});
}

TEST_F(DamagedCheckpoint, FileThatBecameAFolder) {
  fs::remove(file_);
  fs::create_directory(file_);
  expect_fallback({file_, "not a regular file"});
}

TEST_F(DamagedCheckpoint, MissingManifest) {
  fs::remove(manifest_);
  expect_fallback({manifest_, "No such file"});
}

TEST_F(DamagedCheckpoint, TruncatedManifest) {
  const std::string sound = read_text_file(manifest_);
  for (size_t length = 0; length < sound.size(); ++length) {
    write_text_file(manifest_, sound.substr(0, length));
    expect_fallback({manifest_, "damaged"});
  }
}

TEST_F(DamagedCheckpoint, ManifestOfAnotherShape) {
  for (const char* text : {"[]", "{}", "null", "{\"files\":[1]}", "{\"files\":3}",
                           "{\"files\":[{\"name\":\"a\",\"bytes\":1,\"crc32\":\"xyz\"}]}"}) {
    write_text_file(manifest_, text);
    expect_fallback({manifest_, "damaged"});
  }
}

TEST_F(DamagedCheckpoint, NothingIsSound) {
  fs::remove(manifest_);
  fs::remove(step(1) + "/state.bin");
  EXPECT_EQ(store_.newest_sound(), "");
}

TEST_F(DamagedCheckpoint, DoesNotCountAsKept) {
  fs::resize_file(file_, 3);
  save(store_, 3);
  EXPECT_THAT(store_.steps(), ElementsAre(1, 2, 3));
  save(store_, 4);
  EXPECT_THAT(store_.steps(), ElementsAre(3, 4));
}

// A run taken up again before damaged checkpoints must not lose what it then saves to them.
TEST_F(DamagedCheckpoint, OfALaterStepDoesNotPushOutTheSoundOnes) {
  save(store_, 30);
  save(store_, 40);
  write_text_file(step(30) + "/state.bin", "wEights");  // of the right size
  write_text_file(step(40) + "/state.bin", "wEights");
  save(store_, 10);
  save(store_, 15);
  EXPECT_EQ(store_.newest_sound(), step(15));
  EXPECT_THAT(store_.steps(), ElementsAre(10, 15, 30, 40));
  save(store_, 30);
  EXPECT_THAT(store_.steps(), ElementsAre(15, 30, 40));
  EXPECT_EQ(store_.newest_sound(), step(30));
}

// --- what a killed process leaves ---------------------------------------------------------------

TEST_F(CheckpointStoreTest, FoldersOfDeadWritersAreRemoved) {
  save(store_, 1);
  fs::create_directory(hidden(2, "12345-0.writing"));
  write_text_file(hidden(2, "12345-0.writing") + "/state.bin", "half");
  fs::create_directory(hidden(0, "removed"));
  write_text_file(hidden(0, "removed") + "/state.bin", "half");
  EXPECT_EQ(store_.newest_sound(), step(1));
  EXPECT_THAT(store_.steps(), ElementsAre(1));
  save(store_, 2);
  EXPECT_EQ(TempFolder::names_in(directory_),
            (std::set<std::string>{"step_00000001", "step_00000002"}));
}

TEST_F(CheckpointStoreTest, FoldersOfLivingWritersAreKept) {
  const auto slow = store_.begin(1);
  add(*slow, "state.bin", "slow");
  save(store_, 2);
  slow->commit();
  EXPECT_THAT(store_.steps(), ElementsAre(1, 2));
  CheckpointStore::verify(step(1));
}

// Killed between the two renames of a replacement.
TEST_F(CheckpointStoreTest, AReplacedCheckpointStillCounts) {
  save(store_, 1, "only");
  fs::rename(step(1), hidden(1, "replaced"));
  EXPECT_EQ(store_.newest_sound(), hidden(1, "replaced"));
  EXPECT_THAT(store_.steps(), ElementsAre(1));
  store_.begin(2);
  EXPECT_EQ(store_.newest_sound(), step(1));
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
}

// Killed after both renames, while the old folder was being deleted.
TEST_F(CheckpointStoreTest, AHalfDeletedReplacedCheckpointIsRemoved) {
  save(store_, 1, "new");
  fs::create_directory(hidden(1, "replaced"));
  write_text_file(hidden(1, "replaced") + "/state.bin", "old");
  const CapturedLog log;
  EXPECT_EQ(store_.newest_sound(), step(1));
  EXPECT_EQ(log.text(), "");
  store_.begin(2);
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
  EXPECT_EQ(read_text_file(step(1) + "/state.bin"), "new");
}

// A sound leftover must survive until its damaged successor has a sound one.
TEST_F(CheckpointStoreTest, ASoundReplacedCheckpointOutlivesADamagedOne) {
  CheckpointStore store(directory_, 1);
  save(store, 1, "sound");
  fs::rename(step(1), hidden(1, "replaced"));
  fs::create_directory(step(1));
  EXPECT_EQ(store.newest_sound(), hidden(1, "replaced"));
  {
    const auto writer = store.begin(1);
    EXPECT_EQ(store.newest_sound(), hidden(1, "replaced"));
    add(*writer, "state.bin", "new");
    writer->commit();
  }
  EXPECT_EQ(store.newest_sound(), step(1));
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
}

// --- failing machines ---------------------------------------------------------------------------

TEST_F(CheckpointStoreTest, FullDiskKeepsTheEarlierCheckpoint) {
  save(store_, 1);
  {
    const FileSizeLimit limit(1 << 20);
    expect_runtime_failure({"state.bin", "File too large"},
                           [&] { save(store_, 2, std::string(2 << 20, 'x')); });
  }
  EXPECT_EQ(store_.newest_sound(), step(1));
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
  save(store_, 2);
  EXPECT_EQ(store_.newest_sound(), step(2));
}

// The manifest itself no longer fits.
TEST_F(CheckpointStoreTest, FullDiskAtCommitKeepsTheEarlierCheckpoint) {
  save(store_, 1);
  {
    const auto writer = store_.begin(2);
    add(*writer, "state.bin", "x");
    const FileSizeLimit limit(10);
    expect_runtime_failure({"manifest.json", "File too large"}, [&] { writer->commit(); });
  }
  EXPECT_EQ(store_.newest_sound(), step(1));
  EXPECT_EQ(TempFolder::names_in(directory_), std::set<std::string>{"step_00000001"});
}

TEST_F(CheckpointStoreTest, ReadOnlyDirectoryIsNamed) {
  save(store_, 1);
  fs::permissions(directory_, fs::perms(0555));
  {
    const WithoutRoot nobody;
    expect_runtime_failure({directory_, "Permission denied"}, [&] { save(store_, 2); });
    EXPECT_EQ(store_.newest_sound(), step(1));
  }
  fs::permissions(directory_, fs::perms(0755));
  write_text_file(folder_ / "file", "");
  CheckpointStore impossible(folder_ / "file/checkpoints", 1);
  expect_runtime_failure({folder_ / "file/checkpoints"}, [&] { save(impossible, 1); });
}

}  // namespace
}  // namespace dashlm
