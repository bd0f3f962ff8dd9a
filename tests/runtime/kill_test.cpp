//===- kill_test.cpp - Processes that are killed while they save ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is whole whenever its writer is killed, and training that goes
// on from it ends as if nobody had been.
//
//===----------------------------------------------------------------------===//
#include "shared/unnamed_file.h"
#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace {

class Kill : public Trainer {
protected:
  std::string path = (toy.folder / "checkpoint.safetensors").string();

  /// Starts train_and_save and returns once it trains.
  pid_t start(const std::string &file, int steps) const {
    int ends[2];
    if (pipe(ends) != 0)
      return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string artifact = toy.path(), count = std::to_string(steps);
    std::vector<std::string> words = {TRAIN_AND_SAVE, artifact, file, count};
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t process = -1;
    int error = posix_spawn(&process, TRAIN_AND_SAVE, &actions, nullptr,
                            arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char ready[6];
    bool began = error == 0 && ::read(ends[0], ready, 6) == 6;
    close(ends[0]);
    EXPECT_TRUE(began) << std::strerror(error);
    return process;
  }

  static int wait_for(pid_t process) {
    int status = 0;
    return waitpid(process, &status, 0) == process ? status : -1;
  }

  /// The step that the checkpoint is of, which all of it must be of.
  static int64_t step_of(const std::string &file) {
    tinh::TensorFile checkpoint(file);
    tinh_safetensors_tensor_t tensor = checkpoint.find("stamp");
    std::vector<int64_t> stamps(num_stamps);
    EXPECT_EQ(tensor.type.size, num_stamps * 8);
    std::memcpy(stamps.data(), tensor.data, num_stamps * 8);
    EXPECT_TRUE(std::all_of(stamps.begin(), stamps.end(),
                            [&](int64_t s) { return s == stamps[0]; }));
    EXPECT_EQ(checkpoint.metadata().at("step"), std::to_string(stamps[0]));
    return stamps[0];
  }

  /// Whether the folder's file system has files that are written without names.
  bool has_unnamed_files() const {
    int file = tinh::runtime::open_unnamed(toy.folder, 0600);
    if (file >= 0)
      close(file);
    return file >= 0;
  }

  /// How many files lie there whose writer has not finished them.
  long count_temporary() const {
    std::filesystem::directory_iterator entries(toy.folder);
    return std::count_if(begin(entries), end(entries), [](const auto &entry) {
      return entry.path().extension() == ".tmp";
    });
  }

  static std::string bytes_of(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

} // namespace

TEST_F(Kill, ACheckpointIsAlwaysWhole) {
  std::mt19937 random(7);
  constexpr int kEndless = 1 << 30;
  int64_t last = 0;
  for (int kill = 0; kill < 50; ++kill) {
    pid_t process = start(path, kEndless);
    ASSERT_GT(process, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    ::kill(process, SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(wait_for(process)));
    if (!std::filesystem::exists(path))
      continue; // Before it had saved for the first time.
    int64_t step = step_of(path);
    ASSERT_GE(step, last);
    last = step;
  }
  auto end = static_cast<int>(last) + 5;
  std::string other = (toy.folder / "uninterrupted.safetensors").string();
  ASSERT_EQ(wait_for(start(path, end)), 0);
  ASSERT_EQ(wait_for(start(other, end)), 0);
  EXPECT_EQ(step_of(path), end);
  if (has_unnamed_files())
    EXPECT_EQ(count_temporary(), 0);
  EXPECT_TRUE(bytes_of(path) == bytes_of(other));
}
