//===- SummaryWriter.cpp - Logs for TensorBoard ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/summary_writer.h"

#include "compiler/Fit/events.pb.h"
#include "compiler/Support/Files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <immintrin.h>
#include <limits>
#include <map>
#include <set>
#include <unistd.h>

namespace tinh {

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// CRC-32C, which x86-64 CPUs with SSE4.2 compute by an instruction.
__attribute__((target("sse4.2"))) static uint32_t crc32c(const char *data,
                                                         size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i)
    crc = _mm_crc32_u8(crc, static_cast<unsigned char>(data[i]));
  return ~crc;
}

/// As record_writer.h asks for, so that checksums of checksums differ.
static uint32_t maskedChecksum(const char *data, size_t size) {
  uint32_t crc = crc32c(data, size);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <typename Number> static void put(std::string &to, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.append(bytes, sizeof number);
}

/// Length, checksum of the length, data, checksum of the data.
static std::string makeRecord(const std::string &data) {
  std::string record;
  put(record, uint64_t(data.size()));
  put(record, maskedChecksum(record.data(), record.size()));
  record += data;
  put(record, maskedChecksum(data.data(), data.size()));
  return record;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

struct SummaryWriter::Impl {
  std::string path;
  std::ofstream file;

  void write(events::Event event, int64_t step) {
    std::chrono::duration<double> now =
        std::chrono::system_clock::now().time_since_epoch();
    event.set_wall_time(now.count());
    event.set_step(step);
    std::string record = makeRecord(event.SerializeAsString());
    file.write(record.data(), static_cast<std::streamsize>(record.size()));
    check();
  }
  void check() {
    if (!file)
      throw Error(TINH_IO_ERROR,
                  "'" + path + "': cannot be written: " + std::strerror(errno));
  }
};

/// As TensorBoard expects: events.out.tfevents.TIME.HOST.PID.NUMBER.
static std::string fileName() {
  static std::atomic<int> number = 0;
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return "events.out.tfevents." + std::to_string(seconds.count()) + "." + host +
         "." + std::to_string(::getpid()) + "." + std::to_string(number++);
}

SummaryWriter::SummaryWriter(const std::string &directory)
    : impl(std::make_unique<Impl>()) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  impl->path = (std::filesystem::path(directory) / fileName()).string();
  impl->file.open(impl->path, std::ios::binary);
  impl->check();
  events::Event event;
  event.set_file_version("brain.Event:2");
  impl->write(event, 0);
  flush();
}

SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter &&) noexcept = default;
SummaryWriter &SummaryWriter::operator=(SummaryWriter &&) noexcept = default;

const std::string &SummaryWriter::path() const { return impl->path; }

void SummaryWriter::flush() {
  impl->file.flush();
  impl->check();
}

void SummaryWriter::add_scalar(const std::string &tag, double value,
                               int64_t step) {
  events::Event event;
  events::Summary::Value *entry = event.mutable_summary()->add_value();
  entry->set_tag(tag);
  entry->set_simple_value(static_cast<float>(value));
  impl->write(event, step);
}

//===----------------------------------------------------------------------===//
// Histograms
//===----------------------------------------------------------------------===//

/// Upper ends of the buckets: powers of 1.1 of either sign, and 0.
static const std::vector<double> &bucketLimits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive, all;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
      positive.push_back(limit);
    for (auto i = positive.rbegin(); i != positive.rend(); ++i)
      all.push_back(-*i);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    all.push_back(std::numeric_limits<double>::max());
    return all;
  }();
  return limits;
}

/// Counts finite values; a run of empty buckets is one.
static void fillHistogram(const std::vector<double> &values,
                          events::HistogramProto &histogram) {
  const std::vector<double> &limits = bucketLimits();
  std::vector<double> counts(limits.size());
  double least = INFINITY, most = -INFINITY, number = 0, sum = 0, squares = 0;
  for (double value : values) {
    if (!std::isfinite(value))
      continue;
    least = std::min(least, value);
    most = std::max(most, value);
    number += 1;
    sum += value;
    squares += value * value;
    auto bucket = std::lower_bound(limits.begin(), limits.end(), value);
    ++counts[static_cast<size_t>(bucket - limits.begin())];
  }
  histogram.set_min(number > 0 ? least : 0);
  histogram.set_max(number > 0 ? most : 0);
  histogram.set_num(number);
  histogram.set_sum(sum);
  histogram.set_sum_squares(squares);
  for (size_t i = 0; i < counts.size(); ++i) {
    bool isLastEmpty = i + 1 == counts.size() || counts[i + 1] > 0;
    if (counts[i] == 0 && !isLastEmpty)
      continue;
    histogram.add_bucket_limit(limits[i]);
    histogram.add_bucket(counts[i]);
  }
}

void SummaryWriter::add_histogram(const std::string &tag, const Tensor &values,
                                  int64_t step, At at) {
  events::Event event;
  events::Summary::Value *entry = event.mutable_summary()->add_value();
  entry->set_tag(tag);
  fillHistogram(values.to_vector<double>(at), *entry->mutable_histo());
  impl->write(event, step);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

namespace {

/// The nodes of a model, named so that dots and slashes make groups.
class GraphWriter {
public:
  explicit GraphWriter(events::GraphDef &graph) : graph(graph) {}

  void addSource(const nlohmann::json &tensor, const char *op) {
    const auto name = tensor.at("name").get<std::string>();
    events::NodeDef *node = add(name, op);
    producers[name] = node->name();
    if (tensor.contains("shape"))
      (*node->mutable_attr())["shape"].set_s(tensor["shape"].dump());
  }
  void addNode(const nlohmann::json &json) {
    const nlohmann::json &outputs = json.at("outputs");
    std::string name = json.value("name", outputs.at(0).get<std::string>());
    events::NodeDef *node = add(name, json.at("op").get<std::string>());
    for (const nlohmann::json &input : json.at("inputs"))
      if (input.is_string())
        node->add_input(producers[input.get<std::string>()]);
    if (json.contains("attributes"))
      for (const auto &[key, value] : json["attributes"].items())
        (*node->mutable_attr())[key].set_s(value.dump());
    for (const nlohmann::json &output : outputs)
      producers[output.get<std::string>()] = node->name();
  }

private:
  /// Names are unique.
  events::NodeDef *add(std::string name, const std::string &op) {
    for (char &c : name)
      c = c == '.' ? '/' : c;
    std::string unique = name;
    for (int i = 1; !used.insert(unique).second; ++i)
      unique = name + "_" + std::to_string(i);
    events::NodeDef *node = graph.add_node();
    node->set_name(unique);
    node->set_op(op);
    return node;
  }

  events::GraphDef &graph;
  std::map<std::string, std::string> producers;
  std::set<std::string> used;
};

} // namespace

void SummaryWriter::add_graph(const std::string &path) {
  auto file = readRegularFile(path);
  if (!file)
    throw Error(TINH_INVALID_ARGUMENT, "cannot read '" + path + "': " +
                                           llvm::toString(file.takeError()));
  nlohmann::json json =
      nlohmann::json::parse((*file)->getBuffer(), nullptr, false);
  if (!json.is_object() || !json.contains("nodes"))
    throw Error(TINH_INVALID_ARGUMENT,
                "'" + path + "' is no model in Tinh's JSON format");
  events::GraphDef graph;
  graph.mutable_versions()->set_producer(22);
  GraphWriter writer(graph);
  for (const nlohmann::json &input : json["inputs"])
    writer.addSource(input, "Placeholder");
  if (json.contains("weights"))
    for (const nlohmann::json &weight : json["weights"])
      writer.addSource(weight, "Const");
  for (const nlohmann::json &node : json["nodes"])
    writer.addNode(node);
  events::Event event;
  event.set_graph_def(graph.SerializeAsString());
  impl->write(event, 0);
}

} // namespace tinh
