//===- KernelCacheTest.cpp - What a folder of compiled kernels keeps ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tests/artifact/cache_test.py tests the cache through graph-compile.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/KernelCache.h"

#include "tinh/compiler.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <thread>

using namespace tinh;
using artifact::Object;
namespace fs = std::filesystem;

namespace {

class KernelCacheTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { fs::remove_all(directory); }

  static Object object(char content, size_t size = 1000) {
    return Object(size, content);
  }
  std::string key(const KernelCache &cache, const std::string &text) {
    return cache.key(text, target);
  }
  fs::path entry(const KernelCache &cache, const std::string &text) {
    return directory / ("llvmcache-" + key(cache, text));
  }

  fs::path directory;
  cpu::Target target = {"cpu", "+a,-b"};
};

TEST_F(KernelCacheTest, GivesBackWhatWasStored) {
  KernelCache cache(directory / "new" / "folder");
  EXPECT_EQ(cache.load(key(cache, "k")), std::nullopt);
  for (size_t size : {0, 1, 5000}) {
    cache.store(key(cache, "k"), object('x', size));
    EXPECT_EQ(cache.load(key(cache, "k")), object('x', size));
  }
  KernelCache another(directory / "new" / "folder");
  EXPECT_EQ(another.load(key(another, "k")), object('x', 5000));
  EXPECT_EQ(cache.takeWarning(), std::nullopt);
}

TEST_F(KernelCacheTest, EachPartOfTheKeyCounts) {
  KernelCache cache(directory.string());
  std::set<std::string> keys;
  for (std::string name : {"cpu", "cpu+"})
    for (std::string features : {"", "+a", "+"})
      for (std::string text : {"", "a", "+a"}) {
        target.name = name;
        target.features = features;
        keys.insert(key(cache, text));
      }
  EXPECT_EQ(keys.size(), 18u);
}

TEST_F(KernelCacheTest, RemovesWhatWasNotReadForLongest) {
  KernelCache cache(directory.string(), /*maximumSize=*/8 * 1100);
  for (char c = 'a'; c < 'a' + 10; ++c)
    cache.store(key(cache, std::string(1, c)), object(c));
  // Times of access an hour apart, the first written the oldest; all within the
  // day for which Linux would not note another access.
  time_t start = time(nullptr) - 20 * 3600;
  for (int i = 0; i < 10; ++i) {
    timespec times[2] = {{start + i * 3600, 0}, {start - 3600, 0}};
    fs::path path = entry(cache, std::string(1, 'a' + i));
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  EXPECT_TRUE(cache.load(key(cache, "a"))); // Now the newest.
  cache.prune(std::chrono::seconds(0));
  EXPECT_TRUE(cache.load(key(cache, "a")));
  EXPECT_TRUE(cache.load(key(cache, "j")));
  EXPECT_FALSE(cache.load(key(cache, "b")));
  EXPECT_FALSE(cache.load(key(cache, "c")));
}

TEST_F(KernelCacheTest, PruningRemovesUnfinishedFilesButNoOthers) {
  KernelCache cache(directory.string(), /*maximumSize=*/500);
  cache.store(key(cache, "k"), object('k'));
  fs::path unfinished = entry(cache, "k").string() + ".0123abcd.tmp";
  fs::copy(entry(cache, "k"), unfinished);
  fs::path foreign = directory / "thesis.txt";
  fs::copy(entry(cache, "k"), foreign);
  cache.prune(std::chrono::seconds(0));
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_FALSE(fs::exists(entry(cache, "k")));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(KernelCacheTest, PruningWaitsForItsInterval) {
  KernelCache cache(directory.string(), /*maximumSize=*/500);
  cache.prune(); // Notes the time.
  cache.store(key(cache, "k"), object('k'));
  cache.prune();
  EXPECT_TRUE(cache.load(key(cache, "k")));
}

TEST_F(KernelCacheTest, WarnsOnce) {
  fs::path file = directory / "file";
  fclose(fopen(file.c_str(), "w"));
  KernelCache cache((file / "cache").string());
  for (char c : {'a', 'b'})
    cache.store(key(cache, std::string(1, c)), object(c));
  EXPECT_EQ(cache.takeWarning(),
            "compiled kernels are not kept: cannot write '" +
                (file / "cache").string() + "': Not a directory");
  cache.store(key(cache, "c"), object('c'));
  EXPECT_EQ(cache.takeWarning(), std::nullopt);
  cache.prune(std::chrono::seconds(0));
}

TEST_F(KernelCacheTest, ServesProgramsThatEmbedTheCompiler) {
  std::ofstream(directory / "m.json") << R"({"tinh": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": [4]}],
    "nodes": [{"op": "exp", "inputs": ["x"], "outputs": ["y"]}],
    "outputs": ["y"]})";
  CompileRequest request;
  request.model = (directory / "m.json").string();
  request.output = (directory / "m.so").string();
  request.cacheDirectory = (directory / "cache").string();
  for (bool cached : {false, true}) {
    CompileResult result = compileModel(request);
    ASSERT_TRUE(result.succeeded()) << result.messages.front();
    ASSERT_EQ(result.report.compiledKernels.size(), 1u);
    EXPECT_EQ(result.report.compiledKernels[0].cached, cached);
  }
}

TEST_F(KernelCacheTest, ThreadsWriteTheSameEntry) {
  KernelCache cache(directory.string());
  std::string name = key(cache, "k");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        cache.store(name, object('k', 20'000));
        EXPECT_EQ(cache.load(name), object('k', 20'000));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(cache.takeWarning(), std::nullopt);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1);
}

} // namespace
