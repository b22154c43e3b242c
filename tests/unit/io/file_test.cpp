#include "io/file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "unit/io/limits.h"

namespace dashlm {
namespace {

using testing::expect_bad_input;
using testing::expect_runtime_failure;
using testing::FileSizeLimit;
using testing::TempFolder;
using testing::WithoutRoot;
using Names = std::set<std::string>;

void write(FileWriter& file, const std::string& text) {
  file.write(text.data(), static_cast<int64_t>(text.size()));
}

TEST(FileWriter, WritesSeveralPiecesAndCounts) {
  const TempFolder folder;
  FileWriter file(folder / "a.bin");
  write(file, "1234");
  write(file, "");
  write(file, "56789");
  EXPECT_EQ(file.bytes(), 9);
  EXPECT_EQ(file.crc32(), 0xCBF43926u);  // the check value of CRC-32's definition
  EXPECT_FALSE(std::filesystem::exists(folder / "a.bin"));
  file.commit();
  EXPECT_EQ(read_text_file(folder / "a.bin"), "123456789");
  EXPECT_EQ(crc32_of_file(folder / "a.bin"), 0xCBF43926u);
  EXPECT_EQ(folder.names(), Names{"a.bin"});
}

TEST(FileWriter, MovesMoreThanOnePiece) {
  const TempFolder folder;
  std::string text(5'000'001, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>((i * 2654435761u) >> 13);
  FileWriter file(folder / "a.bin");
  write(file, text);
  file.commit();
  EXPECT_TRUE(read_text_file(folder / "a.bin") == text);
  EXPECT_EQ(file.bytes(), 5'000'001);
  EXPECT_EQ(file.crc32(), crc32_of_file(folder / "a.bin"));
  EXPECT_EQ(file.crc32(), crc32_of_bytes(text.data(), 5'000'001));
  EXPECT_EQ(file.crc32(), crc32_of_bytes(text.data() + 1234, 5'000'001 - 1234,
                                         crc32_of_bytes(text.data(), 1234)));
}

TEST(FileWriter, WithoutCommitNothingHappened) {
  const TempFolder folder;
  write_text_file(folder / "a.txt", "old");
  {
    FileWriter file(folder / "a.txt");
    write(file, "new");
  }
  EXPECT_EQ(read_text_file(folder / "a.txt"), "old");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(FileWriter, ReplacesAtCommit) {
  const TempFolder folder;
  write_text_file(folder / "a.txt", "a longer old text");
  FileWriter file(folder / "a.txt");
  write(file, "new");
  EXPECT_EQ(read_text_file(folder / "a.txt"), "a longer old text");
  file.commit();
  EXPECT_EQ(read_text_file(folder / "a.txt"), "new");
}

TEST(FileWriter, AcceptsANameWithoutFolder) {
  const TempFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_text_file("plain.txt", "x");
  std::filesystem::current_path(before);
  EXPECT_EQ(folder.names(), Names{"plain.txt"});
}

TEST(FileWriter, UseAfterCommitIsAnError) {
  const TempFolder folder;
  FileWriter file(folder / "a.txt");
  file.commit();
  expect_runtime_failure({"a.txt"}, [&] { write(file, "x"); });
  expect_runtime_failure({"a.txt"}, [&] { file.commit(); });
}

TEST(FileWriter, MissingFolderNamesTheTarget) {
  const TempFolder folder;
  expect_runtime_failure({folder / "none/a.txt", "No such file or directory"},
                         [&] { FileWriter file(folder / "none/a.txt"); });
}

TEST(FileWriter, ReadOnlyFolderNamesTheTarget) {
  const TempFolder folder;
  write_text_file(folder / "a.txt", "old");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  {
    const WithoutRoot nobody;
    expect_runtime_failure({folder / "a.txt", "Permission denied"},
                           [&] { write_text_file(folder / "a.txt", "new"); });
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_EQ(read_text_file(folder / "a.txt"), "old");
}

TEST(FileWriter, TargetThatIsAFolderIsLeftAlone) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "a");
  expect_runtime_failure({folder / "a"}, [&] { write_text_file(folder / "a", "x"); });
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(FileWriter, FullDiskKeepsTheOldFileAndLeavesNothing) {
  const TempFolder folder;
  write_text_file(folder / "a.bin", "old");
  const std::string text(3 << 20, 'x');
  {
    FileWriter file(folder / "a.bin");
    const FileSizeLimit limit((2 << 20) + 17);
    expect_runtime_failure({folder / "a.bin", "File too large"}, [&] { write(file, text); });
    // At once, not only when the writer goes: the space may be what saves the next attempt.
    EXPECT_EQ(folder.names(), Names{"a.bin"});
    expect_runtime_failure({folder / "a.bin"}, [&] { file.commit(); });
  }
  EXPECT_EQ(read_text_file(folder / "a.bin"), "old");
}

TEST(FileWriter, TwoWritersOfOneTargetDoNotMix) {
  const TempFolder folder;
  auto first = std::make_unique<FileWriter>(folder / "a.txt");
  auto second = std::make_unique<FileWriter>(folder / "a.txt");
  write(*first, "first");
  write(*second, "second");
  first->commit();
  EXPECT_EQ(read_text_file(folder / "a.txt"), "first");
  second->commit();
  EXPECT_EQ(read_text_file(folder / "a.txt"), "second");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(FileWriter, ProcessesDoNotDisturbEachOther) {
  const TempFolder folder;
  constexpr int kProcesses = 4;
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() == 0) {
      int status = 0;
      try {
        const std::string text(10'000, static_cast<char>('a' + i));
        for (int n = 0; n < 20; ++n) write_text_file(folder / "a.txt", text);
      } catch (const std::exception&) {
        status = 1;
      }
      _exit(status);
    }
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  const std::string text = read_text_file(folder / "a.txt");
  EXPECT_EQ(text, std::string(10'000, text.at(0)));
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

// What a process with our number left behind, in another life or on another machine.
TEST(FileWriter, StaleTemporariesAreHarmless) {
  const TempFolder folder;
  std::string stale;
  {
    FileWriter file(folder / "a.txt");
    stale = *folder.names().begin();
  }
  const size_t dash = stale.rfind('-');
  const int64_t number = std::stoll(stale.substr(dash + 1));
  for (int64_t i = number + 1; i < number + 5; ++i) {
    std::ofstream(folder / (stale.substr(0, dash + 1) + std::to_string(i) + ".tmp")) << "stale";
  }
  write_text_file(folder / "a.txt", "new");
  EXPECT_EQ(read_text_file(folder / "a.txt"), "new");
  EXPECT_EQ(folder.names().size(), 5u);
}

TEST(FileReader, ReadsFromAnyOffset) {
  const TempFolder folder;
  write_text_file(folder / "a.txt", "0123456789");
  const FileReader file(folder / "a.txt");
  std::string text(4, ' ');
  file.read_at(3, text.data(), 4);
  EXPECT_EQ(text, "3456");
  EXPECT_EQ(file.bytes(), 10);
}

TEST(FileReader, NamesTheFileInErrors) {
  const TempFolder folder;
  expect_bad_input({folder / "none", "No such file"}, [&] { read_text_file(folder / "none"); });
  expect_bad_input({folder.path(), "not a regular file"}, [&] { read_text_file(folder.path()); });
  write_text_file(folder / "a.txt", "0123456789");
  const FileReader file(folder / "a.txt");
  char buffer[8];
  expect_bad_input({folder / "a.txt", "ends at byte 10"}, [&] { file.read_at(5, buffer, 6); });
  std::filesystem::permissions(folder / "a.txt", std::filesystem::perms(0));
  const WithoutRoot nobody;
  expect_bad_input({folder / "a.txt", "Permission denied"},
                   [&] { read_text_file(folder / "a.txt"); });
}

TEST(FileReader, ReadsAnEmptyFile) {
  const TempFolder folder;
  write_text_file(folder / "empty", "");
  EXPECT_EQ(read_text_file(folder / "empty"), "");
  EXPECT_EQ(crc32_of_file(folder / "empty"), 0u);
}

TEST(SyncDirectory, NamesTheDirectory) {
  const TempFolder folder;
  sync_directory(folder.path());
  expect_runtime_failure({folder / "none"}, [&] { sync_directory(folder / "none"); });
}

}  // namespace
}  // namespace dashlm
