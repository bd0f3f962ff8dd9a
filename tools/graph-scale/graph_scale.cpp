//===- graph_scale.cpp - graph-scale: a step on more machines -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "inputs.h"
#include "printable.h"
#include "program.h"
#include "scaling_report.h"
#include "tools.h"

#include <charconv>
#include <cstdio>
#include <new>
#include <set>

using namespace tinh;
using namespace tinh::tools;

namespace {

struct Arguments {
  std::string artifact, function = "train_step", times;
  std::vector<uint32_t> ranks; ///< Ascending, if the user has said which.
  Network network;
  MeasureOptions measure;
  std::optional<double> host_share;
  double faster = 1;
  bool fit = false, json = false;
};

const std::map<std::string, Algorithm> kAlgorithms = {
    {"direct", Algorithm::direct},
    {"ring", Algorithm::ring},
    {"tree", Algorithm::tree},
    {"halving", Algorithm::halving}};

constexpr uint32_t kMostRanks = 1 << 20;

uint32_t parse_count(std::string_view text) {
  uint32_t count = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count == 0 ||
      count > kMostRanks)
    throw CLI::ValidationError("--ranks", "'" + std::string(text) +
                                              "' is no number from 1 to " +
                                              std::to_string(kMostRanks));
  return count;
}

/// "2,8..64": 2, 8, 16, 32 and 64.
std::vector<uint32_t> parse_ranks(const std::vector<std::string> &texts) {
  std::set<uint32_t> all;
  for (const std::string &text : texts) {
    size_t dots = text.find("..");
    uint32_t first = parse_count(std::string_view(text).substr(0, dots));
    uint32_t last = dots == std::string::npos
                        ? first
                        : parse_count(std::string_view(text).substr(dots + 2));
    if (first > last)
      throw CLI::ValidationError("--ranks",
                                 "'" + text + "' ends before it begins");
    for (; first < last; first *= 2)
      all.insert(first);
    all.insert(last);
  }
  return {all.begin(), all.end()};
}

void define_network(CLI::App &app, Arguments &arguments) {
  Network &network = arguments.network;
  CLI::Option *latency =
      app.add_option_function<double>(
             "--latency",
             [&network](double microseconds) {
               network.latency = microseconds * 1e-6;
             },
             "what a message takes however small it is: microseconds; 20 if "
             "not given")
          ->check(CLI::Range(0.0, 1e9))
          ->check(comparable())
          ->type_name("US");
  CLI::Option *bandwidth =
      app.add_option_function<double>(
             "--bandwidth",
             [&network](double gigabytes) {
               network.bandwidth = gigabytes * 1e9;
             },
             "gigabytes that each rank sends, and receives, in a second; 1.25, "
             "which is 10 Gb/s, if not given")
          ->check(CLI::Range(1e-9, 1e9))
          ->check(comparable())
          ->type_name("GB");
  add_choice(app, "--algorithm", &network.algorithm, kAlgorithms,
             "how collectives are done: direct, as by Tinh's own library over "
             "MPI, ring, tree (binomial trees) or halving (recursive halving "
             "and doubling); direct if not given")
      ->type_name("ALGORITHM");
  app.add_option("--host-share", arguments.host_share,
                 "how much of a collective's time the cores that compute are "
                 "busy with it: 0 where others do it, 1 where these do it all; "
                 "0 if not given, and with --fit what it is where no rank has "
                 "a core to spare")
      ->check(CLI::Range(0.0, 1.0))
      ->check(comparable())
      ->type_name("SHARE");
  app.add_flag("--fit", arguments.fit,
               "under mpirun: measure reductions between the ranks, and take "
               "the latency and the bandwidth that fit them")
      ->excludes(latency)
      ->excludes(bandwidth);
}

void define(CLI::App &app, Arguments &arguments) {
  app.add_option("ARTIFACT", arguments.artifact,
                 "the .so that graph-compile --train --data-parallel wrote")
      ->type_name("FILE.so")
      ->required();
  app.add_option_function<std::vector<std::string>>(
         "--ranks",
         [&arguments](const std::vector<std::string> &texts) {
           arguments.ranks = parse_ranks(texts);
         },
         "for how many ranks: numbers, and ranges in which each is twice the "
         "one before; 2..512 if not given")
      ->delimiter(',')
      ->type_name("FIRST..LAST,N,…");
  define_network(app, arguments);
  app.add_option("--function", arguments.function, "the function")
      ->capture_default_str();
  CLI::Option *times =
      app.add_option("--times", arguments.times,
                     "take the times of steps from a file that --json has "
                     "printed, here or elsewhere, instead of measuring them")
          ->type_name("FILE.json");
  app.add_option("--faster", arguments.faster,
                 "simulate machines on which each step takes so many times "
                 "less")
      ->check(CLI::Range(1e-6, 1e6))
      ->check(comparable())
      ->capture_default_str()
      ->type_name("TIMES");
  add_threads(app, &arguments.measure.of_context.threads);
  add_device(app, &arguments.measure.of_context.device,
             &arguments.measure.of_context.cuda_device);
  app.add_option("--seconds", arguments.measure.seconds,
                 "how long steps are measured")
      ->check(CLI::Range(0.0, 1e6))
      ->check(comparable())
      ->capture_default_str()
      ->type_name("SECONDS")
      ->excludes(times);
  app.add_flag("--json", arguments.json, "print JSON");
}

Plan read_plan(const Arguments &arguments, const tinh_artifact_t &program,
               uint32_t function) {
  Plan plan = plan_of(program, program.functions[function]);
  if (plan.collectives.empty())
    throw UserError("function " + arguments.function + " of " +
                    arguments.artifact +
                    " has no collectives: compile it with graph-compile "
                    "--train --data-parallel");
  return plan;
}

/// Those that the user wants, behind one alone, which others are compared with.
std::vector<uint32_t> choose_ranks(const Arguments &arguments,
                                   const Plan &plan) {
  std::vector<uint32_t> ranks = arguments.ranks;
  if (ranks.empty())
    ranks =
        plan.num_ranks ? std::vector{plan.num_ranks} : parse_ranks({"2..512"});
  for (uint32_t count : ranks)
    if (plan.num_ranks && count != plan.num_ranks)
      throw UserError(
          "--ranks: " + arguments.artifact + " was compiled for " +
          std::to_string(plan.num_ranks) +
          " ranks, among which the state of "
          "its optimizer is divided; for " +
          std::to_string(count) +
          ", compile it with --shard-optimizer=" + std::to_string(count));
  if (ranks.front() != 1 && !plan.num_ranks)
    ranks.insert(ranks.begin(), 1);
  return ranks;
}

/// Whether a rank's share of the CPUs is what its threads take.
bool has_no_core_to_spare(const Ranks &ranks, const Arguments &arguments) {
  double cpus = ranks.table()->cpus;
  uint32_t threads = arguments.measure.of_context.threads;
  return threads == 0 || cpus < threads + 1;
}

void fit(ScalingReport &report, const Arguments &arguments,
         const Ranks &ranks) {
  report.reductions = measure_reductions(report.plan, ranks);
  report.fitted_ranks = ranks.count();
  report.network =
      fit_network(report.reductions, report.network, ranks.count());
  if (has_no_core_to_spare(ranks, arguments))
    report.network.host_share =
        fit_host_share(report.reductions, ranks.table()->cpus);
}

void run(const Arguments &arguments, const Ranks &ranks) {
  Module module(arguments.artifact);
  uint32_t function = module.find_function(arguments.function);
  ScalingReport report;
  report.model = module.info().model;
  report.function = arguments.function;
  const tinh_artifact_t &program =
      program_of(module, arguments.measure.of_context);
  report.plan = read_plan(arguments, program, function);
  report.network = arguments.network;
  std::vector<uint32_t> counts = choose_ranks(arguments, report.plan);
  if (arguments.fit)
    fit(report, arguments, ranks);
  if (arguments.host_share)
    report.network.host_share = *arguments.host_share;
  if (arguments.times.empty())
    measure_steps(report.plan, module, program, function, ranks,
                  arguments.measure);
  else
    read_times(report.plan, arguments.times);
  Plan plan = report.plan;
  for (PlanStep &step : plan.steps)
    step.seconds /= arguments.faster;
  for (uint32_t count : counts)
    report.scaling.push_back(simulate(plan, report.network, count));
  arguments.json ? print_json(report) : print(report);
}

/// Says what has gone wrong, to the other ranks as well.
int fail(const char *kind, const std::string &what, int code, Ranks &ranks) {
  std::fprintf(stderr, "graph-scale: %s%s\n", kind,
               printable(what, true).c_str());
  ranks.give_up(what);
  return code;
}

} // namespace

int tinh::tools::graph_scale(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Estimates what a step of data-parallel training takes on more "
               "machines.",
               "graph-scale");
  define(app, arguments);
  if (auto done = parse(app, argc, argv))
    return *done;
  Ranks ranks;
  try {
    ranks = Ranks::join(0);
    run(arguments, ranks);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw UserError("cannot write to the standard output");
    return exit_success;
  } catch (const tinh::Error &error) {
    bool internal = error.status() == TINH_INTERNAL;
    return fail(internal ? "internal error: " : "error: ", error.what(),
                internal ? exit_internal : exit_wrong_input, ranks);
  } catch (const UserError &error) {
    return fail("error: ", error.what(), exit_wrong_input, ranks);
  } catch (const std::bad_alloc &) {
    return fail("error: ", "out of memory", exit_wrong_input, ranks);
  } catch (const std::exception &error) {
    return fail("internal error: ", error.what(), exit_internal, ranks);
  }
}
