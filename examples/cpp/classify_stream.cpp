//===- classify_stream.cpp - Classifies a stream of images ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   classify_stream MODEL.so IMAGE.f32 ...
//
// Prints the best class of each image, in their order. While some are computed
// the next are read: as many are in flight as the context allows. Images are
// raw float data of the model's input.
//
//===----------------------------------------------------------------------===//
#include "tinh/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>

namespace {

struct Job {
  std::string name;
  std::vector<float> image, scores;
  tinh::Future done;
};

} // namespace

static size_t floats_of(const std::vector<tinh_tensor_info_t> &tensors) {
  if (tensors.empty() || tensors[0].dtype != TINH_DTYPE_F32)
    throw tinh::Error(TINH_INVALID_ARGUMENT, "expected f32 in and out");
  return tensors[0].size / sizeof(float);
}

static std::vector<float> read_image(const std::string &path, size_t count) {
  std::vector<float> image(count);
  std::ifstream file(path, std::ios::binary);
  auto size = static_cast<std::streamsize>(count * sizeof(float));
  if (!file.read(reinterpret_cast<char *>(image.data()), size))
    throw tinh::Error(TINH_IO_ERROR, "cannot read " + std::to_string(size) +
                                         " bytes of " + path);
  return image;
}

static void finish(const Job &job) {
  job.done.wait();
  auto best = std::max_element(job.scores.begin(), job.scores.end());
  std::printf("%s: class %td, score %g\n", job.name.c_str(),
              best - job.scores.begin(), double(*best));
}

static void classify(const tinh::Module &module, char **names, int count) {
  size_t pixels = floats_of(module.inputs());
  size_t classes = floats_of(module.outputs());
  std::deque<Job> jobs; // Outlives the context, whose runs write to it.
  tinh::Context context(module);
  for (int i = 0; i < count; ++i) {
    if (jobs.size() == context.info().max_in_flight) {
      finish(jobs.front());
      jobs.pop_front();
    }
    std::vector<float> image = read_image(names[i], pixels), scores(classes);
    tinh::Future done =
        context.submit({tinh::buffer(image)}, {tinh::buffer(scores)});
    // Moving a vector leaves its elements where they are.
    jobs.push_back(
        {names[i], std::move(image), std::move(scores), std::move(done)});
  }
  for (const Job &job : jobs)
    finish(job);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: classify_stream MODEL.so IMAGE ...\n"),
           2;
  try {
    classify(tinh::Module(argv[1]), argv + 2, argc - 2);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "classify_stream: error: %s\n", error.what());
    return 1;
  }
}
