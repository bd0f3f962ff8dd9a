//===- command_line.cpp - What the tools' command lines share ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"

#include "completion.h"
#include "decimal.h"
#include "man_page.h"
#include "version.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace tinh::tools {

static const CLI::Range threadRange(0, 4096);

void add_threads(CLI::App &app, uint32_t *threads) {
  app.add_option("--threads", *threads,
                 "threads that run the model; 0: as many as the process may "
                 "use")
      ->check(threadRange)
      ->capture_default_str();
}

/// False for what is no device.
static bool parse_device(const std::string &text, tinh_use_device_t *device,
                         uint32_t *gpu) {
  *device = text == "cpu" ? TINH_USE_CPU : TINH_USE_CUDA;
  if (text == "cpu" || text == "cuda")
    return true;
  const std::string prefix = "cuda:";
  if (text.compare(0, prefix.size(), prefix) != 0)
    return false;
  const char *begin = text.data() + prefix.size(),
             *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(begin, end, *gpu);
  return error == std::errc() && stop == end;
}

void add_device(CLI::App &app, tinh_use_device_t *device, uint32_t *gpu) {
  app.add_option_function<std::string>(
         "--device",
         [=](const std::string &text) {
           if (!parse_device(text, device, gpu))
             throw CLI::ValidationError(
                 "--device", "expected cpu, cuda or cuda:N, not " + text);
         },
         "run on the cpu, on the GPU (cuda), or on GPU N (cuda:N), which the "
         "artifact must have code for; if not given, on the GPU if the "
         "artifact has code for it and there is one")
      ->type_name("DEVICE");
}

void add_jobs(CLI::App &app, unsigned *jobs) {
  app.add_option("-j,--jobs", *jobs,
                 "threads that compile; 0: as many as there are CPUs")
      ->check(threadRange)
      ->capture_default_str();
}

void add_precision(CLI::App &app, std::string *precision,
                   std::vector<std::string> *keep_f32) {
  app.add_option("--precision", *precision,
                 "mixed precision: f32 (the default), bf16 or f16: the type "
                 "in which matmuls and convolutions read activations and "
                 "weights; on a CPU that does not multiply it, only weights "
                 "are stored in it. Sums, norms, softmax, inputs, outputs and "
                 "what is trained stay f32")
      ->type_name("f32|bf16|f16");
  app.add_option("--keep-f32", *keep_f32,
                 "patterns, such as 'conv,/head/*', of names of ops or of the "
                 "model's nodes that stay in f32")
      ->delimiter(',');
}

void add_winograd(CLI::App &app, std::string *winograd) {
  app.add_option("--winograd", *winograd,
                 "off, accurate or fast: Winograd's algorithms for "
                 "convolutions with 3 x 3 kernels on CPUs, where they are "
                 "faster: none, those whose errors are at most about twice "
                 "those of direct convolution, or also those with up to eight "
                 "times as large ones")
      ->check(CLI::IsMember({"off", "accurate", "fast"}))
      ->capture_default_str();
}

void add_math(CLI::App &app, std::string *math) {
  app.add_option(
         "--math", *math,
         "accurate or fast: exp, log, tanh, erf, sigmoid, sin, cos and "
         "pow of f32 on CPUs: right to one or two units in the last place, or "
         "faster, to up to eight, and without subnormal numbers")
      ->check(CLI::IsMember({"accurate", "fast"}))
      ->capture_default_str();
}

void add_runs(CLI::App &app, uint32_t *runs) {
  app.add_option("--runs", *runs, "runs to time")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
}

CLI::Validator comparable() {
  auto check = [](const std::string &text) {
    return std::isnan(std::strtod(text.c_str(), nullptr))
               ? "expected a number, not " + text
               : "";
  };
  return {check, "", "comparable"};
}

static CLI::Validator number(const std::string &expected,
                             bool (*fits)(double)) {
  auto check = [expected, fits](const std::string &text) {
    char *end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    bool is_number = end != text.c_str() && *end == '\0';
    return is_number && fits(value)
               ? ""
               : "expected " + expected + ", found " + text;
  };
  return {check, "", "number"};
}

CLI::Validator positive() {
  return number("a finite number above 0",
                [](double value) { return value > 0 && std::isfinite(value); });
}

CLI::Validator positive_in_f32() {
  return number("a number above 0 that f32 holds", [](double value) {
    auto rounded = static_cast<float>(value);
    return rounded > 0 && std::isfinite(rounded);
  });
}

CLI::Validator not_negative() {
  return number("0 or a number above it",
                [](double value) { return value >= 0; });
}

bool is_page(const std::string &value) { return value.ends_with(".html"); }

CLI::Validator page_or(const std::vector<std::string> &names) {
  auto check = [names](const std::string &text) {
    if (is_page(text) || std::ranges::find(names, text) != names.end())
      return std::string();
    std::string expected;
    for (const std::string &name : names)
      expected += name + ", ";
    return "expected " + expected + (names.empty() ? "" : "or ") +
           "FILE.html, not " + text;
  };
  return {check, "", "page"};
}

/// Prints `text`, which is all that was asked for.
[[noreturn]] static void print_alone(const std::string &text) {
  std::cout << text << std::flush;
  throw CLI::Success();
}

/// --man and --completion: the app's options as documents, these two among
/// them.
static void add_documents(CLI::App &app, const std::string &tool) {
  app.add_flag_callback(
      "--man", [&app, tool] { print_alone(man_page(app, tool)); },
      "print the manual page; man -l - shows it");
  app.add_option_function<std::string>(
         "--completion",
         [&app, tool](const std::string &shell) {
           print_alone(completion(app, tool, shell));
         },
         "print what makes a shell complete this command: bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

std::optional<ExitCode> parse(CLI::App &app, int argc, char **argv,
                              const std::string &libraries) {
  std::string tool = std::filesystem::path(argv[0]).filename().string();
  app.set_version_flag("--version",
                       version_of(tool) +
                           (libraries.empty() ? "" : ", " + libraries),
                       "print what this is");
  add_documents(app, tool);
  read_integers_as_decimal(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exit_success : exit_usage;
  }
  return std::nullopt;
}

} // namespace tinh::tools
