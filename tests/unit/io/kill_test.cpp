// Processes that write checkpoints are killed with SIGKILL at random moments. What they leave must
// always hold a sound checkpoint, no older than the newest they reported as committed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/random.h"
#include "io/checkpoint_store.h"
#include "support/temp_folder.h"

namespace dashlm {
namespace {

using testing::TempFolder;

constexpr int64_t kFiles = 3;

// Several write() calls long, and different for each step and file.
std::string content(int64_t step, int64_t file) {
  const CounterRandom random(static_cast<uint64_t>(step), Purpose::test);
  std::string text;
  while (text.size() < 40'000) {
    text += std::to_string(random.bits(text.size() + static_cast<uint64_t>(file)));
  }
  return text;
}

void save(CheckpointStore& store, int64_t step) {
  const auto writer = store.begin(step);
  CheckpointPart part(writer->folder());
  for (int64_t i = 0; i < kFiles; ++i) {
    const std::string text = content(step, i);
    part.write(std::to_string(i), [&](FileWriter& file) {
      for (size_t at = 0; at < text.size(); at += 10'000) {
        file.write(text.data() + at,
                   static_cast<int64_t>(std::min<size_t>(10'000, text.size() - at)));
      }
    });
  }
  writer->add(part.files());
  writer->commit();
}

// A number that survives the process that wrote it.
class SharedStep {
 public:
  SharedStep()
      : step_(static_cast<volatile int64_t*>(mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedStep() { munmap(const_cast<int64_t*>(step_), sizeof(int64_t)); }
  SharedStep(const SharedStep&) = delete;
  SharedStep& operator=(const SharedStep&) = delete;
  volatile int64_t& value() { return *step_; }

 private:
  volatile int64_t* step_;
};

// Returns in the middle of a replacement, if it sees one in time.
void wait_for_absence(const std::string& path, std::chrono::microseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (std::chrono::steady_clock::now() < end && access(path.c_str(), F_OK) == 0) {
  }
}

// Each round forks a child that saves one step after the other, `stride` apart (0: the same one
// again and again), until it is killed after a random while.
void kill_rounds(int rounds, int64_t stride, int64_t keep) {
  const TempFolder folder;
  CheckpointStore store(folder / "checkpoints", keep);
  SharedStep committed;
  committed.value() = 100;
  save(store, 100);
  const CounterRandom random(11, Purpose::test);
  for (int round = 0; round < rounds; ++round) {
    const int64_t before = committed.value();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        for (int64_t step = before + stride;; step += stride) {
          save(store, step);
          committed.value() = step;
        }
      } catch (...) {
      }
      _exit(1);
    }
    const auto longest =
        std::chrono::microseconds(random.below(30'000, static_cast<uint64_t>(round)));
    if (stride == 0 && round % 2 == 0) {
      wait_for_absence(store.newest_sound() + "/manifest.json", longest);
    } else {
      std::this_thread::sleep_for(longest);
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself, with status " << status;

    const std::string newest = store.newest_sound();
    ASSERT_NE(newest, "") << "round " << round;
    const size_t digits = newest.find("step_") + 5;
    const int64_t step = std::stoll(newest.substr(digits));
    EXPECT_GE(step, committed.value());
    EXPECT_LE(step, committed.value() + stride);
    for (int64_t i = 0; i < kFiles; ++i) {
      EXPECT_TRUE(read_text_file(newest + "/" + std::to_string(i)) == content(step, i));
    }
    committed.value() = step;
  }
  // The next writer leaves only what is to be kept.
  save(store, committed.value() + 1);
  EXPECT_LE(folder.names_in(folder / "checkpoints").size(), static_cast<size_t>(keep));
}

TEST(KilledWriter, LeavesASoundCheckpoint) {
  kill_rounds(25, 1, 2);
}

TEST(KilledWriter, LeavesTheOnlyCheckpointSound) {
  kill_rounds(25, 1, 1);
}

TEST(KilledWriter, ReplacingTheOnlyCheckpointLeavesItSound) {
  kill_rounds(25, 0, 1);
}

}  // namespace
}  // namespace dashlm
