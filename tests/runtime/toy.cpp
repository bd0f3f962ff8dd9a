//===- toy.cpp - A toy artifact on disk -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weights are w[i] = i.
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

static std::vector<float> weights() {
  std::vector<float> w(1024);
  std::iota(w.begin(), w.end(), 0.0f);
  return w;
}

const uint8_t kToyDigest[16] = {0x6c, 0xda, 0x8a, 0x40, 0x23, 0x5b, 0xa4, 0x5c,
                                0x96, 0x11, 0x4d, 0xc0, 0x0e, 0x01, 0xd0, 0xd3};

std::vector<float> expected_of(const std::vector<float> &x) {
  std::vector<float> y = weights();
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += 2 * x[(i + 64) % y.size()];
  return y;
}

static void write(const std::filesystem::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

Toy::Toy(const std::function<void(tinh_note_t &)> &change,
         bool external_weights, const std::string &library) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tinh-toy-XXXXXX").string();
  folder = mkdtemp(pattern.data());
  std::ifstream file(library, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> w = weights();
  std::string blob(reinterpret_cast<char *>(w.data()), w.size() * 4);
  std::string digest;

  tinh_note_t note = {};
  note.version = TINH_ARTIFACT_VERSION;
  note.weights_embedded = !external_weights;
  note.weights_size = blob.size();
  std::strcpy(note.cpu, "toy-cpu");
  std::memcpy(note.weights_digest, kToyDigest, sizeof kToyDigest);
  for (uint8_t byte : kToyDigest)
    for (int digit : {byte >> 4, byte & 15})
      digest += "0123456789abcdef"[digit];
  if (external_weights) {
    std::strcpy(note.weights_file, "toy.safetensors");
    std::string header = "{\"__metadata__\":{\"tinh.digest\":\"" + digest +
                         "\"},\"weights\":{\"dtype\":\"U8\",\"shape\":[4096],"
                         "\"data_offsets\":[0,4096]}}";
    header.resize(4096 - 8, ' ');
    uint64_t size = header.size();
    write(folder / "toy.safetensors",
          std::string(reinterpret_cast<char *>(&size), 8) + header + blob);
    note.weights_offset = 4096;
  } else {
    bytes.resize((bytes.size() + 4095) / 4096 * 4096);
    note.weights_offset = bytes.size();
    bytes += blob;
  }
  size_t end = bytes.size(), begin_of_weights = end;
  if (!external_weights)
    begin_of_weights -= blob.size();
  note.file_size = end + sizeof(uint64_t);
  if (change)
    change(note);
  std::memcpy(&bytes[bytes.find("NOTE TO COMPLETE")], &note, sizeof note);
  uint64_t checksum =
      tinh_checksum(TINH_CHECKSUM_START, bytes.data(), begin_of_weights);
  bytes.append(reinterpret_cast<char *>(&checksum), sizeof checksum);
  write(path(), bytes);
}

Toy::~Toy() { std::filesystem::remove_all(folder); }
