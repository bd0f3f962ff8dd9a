//===- report.cpp - Comparisons, and the results of all models --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model's folder of results has a file STEP.json of what each step has
// printed, STEP.log of its errors, and steps, with lines "STEP EXIT-CODE".
//
//===----------------------------------------------------------------------===//
#include "report.h"

#include "inputs.h"
#include "tensors.h"
#include "tinh/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

namespace tinh::benchmarks {
namespace {

namespace fs = std::filesystem;
using tools::UserError;

std::string read_text(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Null if the file is no JSON, or not there.
Json read_json(const fs::path &path) {
  Json json = Json::parse(read_text(path), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

std::set<std::string> files_of(const std::string &folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto &file : fs::directory_iterator(folder, error))
    names.insert(file.path().filename().string());
  if (error || names.empty())
    throw UserError("there are no outputs in '" + folder + "'");
  return names;
}

/// The root of the sum of squares.
double norm_of(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

double norm_of_difference(const std::vector<double> &got,
                          const std::vector<double> &expected) {
  std::vector<double> difference(got.size());
  std::transform(got.begin(), got.end(), expected.begin(), difference.begin(),
                 std::minus<>());
  return norm_of(difference);
}

Json cpu_info() {
  std::ifstream file("/proc/cpuinfo");
  Json cpu = {{"name", nullptr},
              {"threads", std::thread::hardware_concurrency()}};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      cpu["name"] = line.substr(line.find(':') + 2);
      break;
    }
  return cpu;
}

Json gpu_info() {
  try {
    tinh_cuda_device_info_t gpu = tinh::cuda_device_info(0);
    std::string chip = "sm_" + std::to_string(gpu.compute_major) +
                       std::to_string(gpu.compute_minor);
    return {{"name", gpu.name},
            {"chip", chip},
            {"multiprocessors", gpu.num_multiprocessors},
            {"memory_bytes", gpu.memory_size},
            {"driver_version", gpu.driver_version}};
  } catch (const tinh::Error &error) {
    return {{"error", error.what()}};
  }
}

std::string now() {
  std::time_t seconds = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds));
  return text;
}

/// What a step has said last, beside its exit code.
std::string problem_of(const fs::path &folder, const std::string &step,
                       int code) {
  std::string text = read_text(folder / (step + ".log"));
  if (text.size() > 2000)
    text.erase(0, text.size() - 2000);
  std::string ended =
      code == 124 ? "took too long" : "exit code " + std::to_string(code);
  return step + ": " + ended + (text.empty() ? "" : ": " + text);
}

/// Adds the rates that follow from the median of a device's runs.
Json with_rates(Json times, const Json &about) {
  if (!times.contains("median_ms"))
    return nullptr;
  double seconds = times["median_ms"].get<double>() / 1e3;
  if (seconds > 0) {
    times["gflop_per_s"] = about.at("flop").get<double>() / seconds / 1e9;
    times["gb_per_s"] = about.at("bytes").get<double>() / seconds / 1e9;
  }
  return times;
}

Json model_result(const fs::path &model, const fs::path &results) {
  Json result = read_json(model / "about.json");
  if (result.is_null())
    throw UserError("'" + model.string() + "' has no about.json");
  result["ok"] = true;
  result["torch"] = nullptr;
  Json problems = Json::array();
  std::ifstream steps(results / "steps");
  std::set<std::string> done;
  int code = 0;
  for (std::string step; steps >> step >> code; done.insert(step)) {
    if (step == "torch") // Its problems are not ours.
      result["torch"] = code ? Json{{"error", problem_of(results, step, code)}}
                             : read_json(results / "torch.json");
    else if (code)
      problems.push_back(problem_of(results, step, code));
  }
  for (const char *step : {"compare", "cpu", "gpu", "gpu-own-kernels"})
    if (problems.empty() && !done.contains(step))
      problems.push_back(std::string(step) + ": was not run");
  Json compared = read_json(results / "compare.json");
  if (compared.contains("error")) {
    result["error"] = compared["error"];
    if (!(compared["error"].is_number() &&
          compared["error"] <= result.at("tolerance")))
      problems.push_back("the GPU's results differ from the CPU's: " +
                         compared.dump());
  }
  result["sanitizer"] = done.contains("sanitizer") ? Json("run") : Json();
  result["cpu"] = with_rates(read_json(results / "cpu.json"), result);
  result["gpu"] = with_rates(read_json(results / "gpu.json"), result);
  result["gpu_own_kernels"] =
      with_rates(read_json(results / "gpu-own-kernels.json"), result);
  if (result["gpu"].is_object() && !result["gpu"].contains("gpu"))
    problems.push_back("gpu: the artifact for GPUs has run on the CPU alone");
  result["ok"] = problems.empty();
  result["problems"] = problems;
  return result;
}

} // namespace

Json compare_folders(const std::string &got, const std::string &expected) {
  std::set<std::string> files = files_of(expected);
  if (files != files_of(got))
    throw UserError("'" + got + "' and '" + expected +
                    "' do not have the same files");
  Json worst = {{"error", 0.0}, {"tensor", nullptr}, {"norm", nullptr}};
  bool says_something = false;
  for (const std::string &file : files) {
    Tensors wanted = read_tensors(expected + "/" + file);
    Tensors found = read_tensors(got + "/" + file);
    for (const auto &[name, values] : wanted) {
      std::string tensor = name.empty() ? file : file + ":" + name;
      double norm = norm_of(values);
      if (!std::isfinite(norm))
        throw UserError("the expected " + tensor + " is not finite");
      says_something |= norm > 0;
      if (!found.contains(name) || found[name].size() != values.size())
        throw UserError(tensor + " is not there, or has another size");
      double error =
          norm_of_difference(found[name], values) / (norm > 0 ? norm : 1);
      if (worst["tensor"].is_null() || !(error <= worst["error"]))
        worst = {{"error", error}, {"tensor", tensor}, {"norm", norm}};
      if (std::isnan(error)) // JSON has none: null.
        return worst;
    }
  }
  if (!says_something)
    throw UserError("all expected values in '" + expected + "' are zero");
  return worst;
}

Json collect_results(const std::string &bundle, const std::string &results) {
  Json all = {{"date", now()}, {"gpu", gpu_info()}, {"cpu", cpu_info()}};
  bool ok = !all["gpu"].contains("error");
  Json models = Json::array();
  for (const std::string &name : files_of(bundle + "/models")) {
    models.push_back(model_result(fs::path(bundle) / "models" / name,
                                  fs::path(results) / name));
    ok = ok && models.back()["ok"];
  }
  all["ok"] = ok;
  all["models"] = models;
  return all;
}

} // namespace tinh::benchmarks
