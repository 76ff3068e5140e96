#include "config/watch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace ratel {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Counts changes; waiting has a bound only so that a failure ends.
class Changes {
 public:
  void Note() {
    const std::lock_guard lock(mutex_);
    ++count_;
    noted_.notify_all();
  }
  bool Reaches(int count, std::chrono::milliseconds bound = 60s) {
    std::unique_lock lock(mutex_);
    return noted_.wait_for(lock, bound, [&] { return count_ >= count; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable noted_;
  int count_ = 0;
};

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ratel_watch_" + std::to_string(::getpid()) + "_" +
                                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const fs::path& name, const std::string& text) { std::ofstream(folder_ / name, std::ios::binary) << text; }
  std::unique_ptr<FileWatch> Start(const fs::path& name) {
    return std::make_unique<FileWatch>((folder_ / name).string(), 2ms, [this] { changes_.Note(); });
  }

  fs::path folder_;
  Changes changes_;
};

TEST_F(Watch, TellsOtherBytes) {
  Write("rules.yaml", "rules: []");
  const auto watch = Start("rules.yaml");
  Write("rules.yaml", "rules: [] # 2");
  EXPECT_TRUE(changes_.Reaches(1));
  Write("rules.yaml", "rules: [] # 3");
  EXPECT_TRUE(changes_.Reaches(2));
}

TEST_F(Watch, ItsThreadLeavesSignalsToTheHost) {
  Write("rules.yaml", "rules: []");
  sigset_t blocked;
  sigemptyset(&blocked);
  FileWatch watch((folder_ / "rules.yaml").string(), 2ms, [&] {
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    changes_.Note();
  });
  Write("rules.yaml", "rules: [ ]");
  ASSERT_TRUE(changes_.Reaches(1));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM}) {
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
  }
}

TEST_F(Watch, ATouchedFileIsNoChange) {
  Write("rules.yaml", "rules: []");
  const auto watch = Start("rules.yaml");
  for (int i = 0; i < 20; ++i) {
    fs::last_write_time(folder_ / "rules.yaml", fs::file_time_type::clock::now() + std::chrono::seconds(i));
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(changes_.count(), 0);
  Write("rules.yaml", "rules: [] # 2");
  EXPECT_TRUE(changes_.Reaches(1)) << "the watch was looking all the time";
}

TEST_F(Watch, AReplacedFileOfTheSameSizeAndTimeIsAChange) {
  Write("rules.yaml", "ipv6_prefix: 48");
  const auto time = fs::last_write_time(folder_ / "rules.yaml");
  const auto watch = Start("rules.yaml");
  Write("new", "ipv6_prefix: 56");
  fs::last_write_time(folder_ / "new", time);
  fs::rename(folder_ / "new", folder_ / "rules.yaml");
  EXPECT_TRUE(changes_.Reaches(1));
}

TEST_F(Watch, AMissingFileIsToldOnceAndIsNoChangeWhenItIsBack) {
  Write("rules.yaml", "rules: []");
  const auto watch = Start("rules.yaml");
  fs::remove(folder_ / "rules.yaml");
  EXPECT_TRUE(changes_.Reaches(1));
  std::this_thread::sleep_for(30ms);
  Write("rules.yaml", "rules: []");
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(changes_.count(), 1);
  Write("rules.yaml", "rules: [] # 2");
  EXPECT_TRUE(changes_.Reaches(2));
}

TEST_F(Watch, AFileThatComesIntoBeingIsAChange) {
  const auto watch = Start("rules.yaml");
  Write("rules.yaml", "rules: []");
  EXPECT_TRUE(changes_.Reaches(1));
}

TEST_F(Watch, SeesFilesOfAFolderComeChangeAndGo) {
  Write("a.yaml", "rules: []");
  const auto watch = Start("");
  Write("b.json", "{}");
  EXPECT_TRUE(changes_.Reaches(1));
  Write("b.json", "{\"rules\": []}");
  EXPECT_TRUE(changes_.Reaches(2));
  fs::remove(folder_ / "b.json");
  EXPECT_TRUE(changes_.Reaches(3));
  Write(".a.yaml.swp", "x");
  Write(".hidden.yaml", "x");
  Write("notes.txt", "x");
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(changes_.count(), 3);
}

// Kubernetes swaps ..data; the names that are seen stay the same.
TEST_F(Watch, SeesASwappedSymbolicLink) {
  for (const char* version : {"..1", "..2"}) {
    fs::create_directories(folder_ / version);
    Write(fs::path(version) / "rules.yaml", std::string("rules: [] # ") + version);
  }
  fs::create_directory_symlink("..1", folder_ / "..data");
  fs::create_symlink("..data/rules.yaml", folder_ / "rules.yaml");
  const auto of_file = Start("rules.yaml");
  const auto of_folder = Start("");
  fs::create_directory_symlink("..2", folder_ / "..next");
  fs::rename(folder_ / "..next", folder_ / "..data");
  EXPECT_TRUE(changes_.Reaches(2));
}

TEST_F(Watch, EndsAtOnceWhateverTheInterval) {
  Write("rules.yaml", "rules: []");
  for (int i = 0; i < 10; ++i) FileWatch((folder_ / "rules.yaml").string(), std::chrono::hours(24), [] {});
  FileWatch((folder_ / "rules.yaml").string(), std::chrono::milliseconds(0), [] {});
  EXPECT_EQ(changes_.count(), 0);
}

}  // namespace
}  // namespace ratel
