//===- tinh/summary_writer.h - Logs for TensorBoard -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Event files that `tensorboard --logdir DIRECTORY` shows:
//
//   tinh::SummaryWriter writer("runs/first");
//   writer.add_scalar("loss", 0.25, step);
//   writer.add_histogram("fc1.weight", weight, step);
//
// The format is TensorFlow's: records with CRC-32C checksums (its
// record_writer.h) of Event messages (its event.proto). What cannot be written
// throws a tinh::Error.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUMMARY_WRITER_H
#define TINH_SUMMARY_WRITER_H

#include "tinh/tensor.h"

#include <memory>
#include <string>

namespace tinh {

/// To be used by one thread at a time.
class SummaryWriter {
public:
  /// Makes the folder, if need be, and a new file in it.
  explicit SummaryWriter(const std::string &directory);
  ~SummaryWriter();
  SummaryWriter(SummaryWriter &&) noexcept;
  SummaryWriter &operator=(SummaryWriter &&) noexcept;

  const std::string &path() const;

  void add_scalar(const std::string &tag, double value, int64_t step);
  /// The distribution of a tensor's elements, which this waits for.
  void add_histogram(const std::string &tag, const Tensor &values, int64_t step,
                     At at = At::current());
  /// A model in Tinh's JSON format, such as TracedFunction::save writes.
  void add_graph(const std::string &json_path);
  /// Hands what was added to the operating system. So does the destructor.
  void flush();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tinh

#endif // TINH_SUMMARY_WRITER_H
