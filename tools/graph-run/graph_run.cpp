//===- graph_run.cpp - graph-run: runs an artifact from the command line --===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line, and what it is for each of several ranks. run.cpp does what
// it asks for.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "inputs.h"
#include "printable.h"
#include "run.h"
#include "tools.h"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>

using namespace tinh::tools;

static void define_options(CLI::App &app, RunOptions &options) {
  app.add_option("ARTIFACT", options.artifact,
                 "the .so that graph-compile wrote")
      ->type_name("FILE.so")
      ->required();
  app.add_flag("--list", options.list,
               "print functions, inputs, outputs and sizes, and run nothing");
  app.add_flag("--verify-weights", options.verify_weights,
               "first compare all weights with the artifact's digest of them");
  app.add_option("--function", options.function, "the function to run")
      ->capture_default_str();
  app.add_option("--input", options.inputs,
                 "NAME=FILE.npy, NAME=random or NAME=zeros")
      ->type_name("NAME=SOURCE");
  app.add_option("--inputs", options.other_inputs,
                 "all others: random, zeros, a folder of NAME.npy or an .npz "
                 "file; without --input and --inputs, all are random")
      ->type_name("random|zeros|FOLDER|FILE.npz");
  app.add_option("--output-dir", options.output_dir,
                 "write each output to FOLDER/NAME.npy")
      ->type_name("FOLDER");
  add_threads(app, &options.of_context.threads);
  add_runs(app, &options.runs);
  app.add_option("--warmup", options.warmup, "runs before those")
      ->check(CLI::Range(0, 100000000))
      ->capture_default_str();
  CLI::Option *in_flight = app.add_option("--in-flight", options.in_flight,
                                          "runs in flight at a time")
                               ->check(CLI::Range(1, 1024))
                               ->capture_default_str();
  add_device(app, &options.of_context.device, &options.of_context.cuda_device);
  app.add_flag("--percentiles", options.percentiles,
               "print minimum, percentiles and maximum");
  app.add_option("--trace", options.trace,
                 "write a trace for chrome://tracing or Perfetto")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--profile{time}", options.profile,
               "print what each step takes, the longest first, or with =steps "
               "in their order, or with =kernels by kernel, or with =FILE.html "
               "write an HTML report; without --runs, over runs of about "
               "two seconds")
      ->check(page_or({"time", "steps", "kernels"}))
      ->type_name("time|steps|kernels|FILE.html")
      ->excludes(in_flight)
      ->excludes(app.get_option("--percentiles"));
  app.add_option("--report", options.report,
                 "the page that graph-compile --report has written of the "
                 "artifact: that of the profile shows all of it, too")
      ->type_name("FILE.html")
      ->needs(app.get_option("--profile"));
  app.add_flag("--check-numerics{all}", options.check_numerics,
               "end with the first step of a run that gives a NaN or an "
               "infinity, or with =nan a NaN, and say which it is")
      ->check(CLI::IsMember({"nan", "all"}))
      ->excludes(app.get_option("--profile"));
}

static void define_ranks(CLI::App &app, RunOptions &options) {
  app.add_option(
         "--timeout", options.timeout,
         "under mpirun: after so many seconds without a sign of life "
         "a rank is given up, and all end; 60 if not given. To join them "
         "they have as long, at least 10")
      ->check(CLI::Range(0.001, 1e6))
      ->check(comparable())
      ->type_name("SECONDS");
}

static void define_state(CLI::App &app, RunOptions &options) {
  CLI::Option *weights =
      app.add_option("--load-weights", options.load_weights,
                     "take the weights from a .safetensors file; for artifacts "
                     "compiled with --loadable-weights")
          ->type_name("FILE.safetensors");
  app.add_option("--load-state", options.load_state,
                 "take all variables from a .safetensors file first")
      ->type_name("FILE.safetensors");
  app.add_option("--save-state", options.save_state,
                 "write all variables to a .safetensors file in the end")
      ->type_name("FILE.safetensors");
  app.add_flag("--train", options.train,
               "train with the functions train_step and evaluate of the "
               "artifact")
      ->excludes(weights)
      ->excludes(app.get_option("--function"))
      ->excludes(app.get_option("--profile"))
      ->needs(app.add_option("--data", options.training.data,
                             "arrays of samples, one for each input of "
                             "train_step")
                  ->type_name("FILE.npy[,FILE.npy…]"));
}

static void define_training(CLI::App &app, TrainOptions &training) {
  CLI::Option *train = app.get_option("--train");
  CLI::Range any_seed(int64_t{0}, std::numeric_limits<int64_t>::max());
  app.get_option("--data")->needs(train);
  auto add = [&](const char *name, auto &value, const char *help) {
    return app.add_option(name, value, help)->needs(train);
  };
  add("--validation", training.validation,
      "the same, to evaluate after each epoch")
      ->type_name("FILE.npy[,FILE.npy…]");
  add("--epochs", training.epochs,
      "how often to go through the samples, in all")
      ->check(CLI::Range(0, 1000000000))
      ->capture_default_str();
  add("--batch", training.batch,
      "samples in a step; what the artifact was compiled for, or an error")
      ->check(CLI::Range(1, 1000000000));
  add("--shuffle", training.shuffle,
      "another order of the samples in each epoch, from a seed")
      ->check(any_seed)
      ->type_name("SEED");
  add("--seed", training.seed,
      "which random numbers the model draws, such as those of dropouts; 0 if "
      "not given")
      ->check(any_seed);
  CLI::Option *checkpoint = add("--checkpoint", training.checkpoint,
                                "write variables and position to a "
                                ".safetensors file after each epoch")
                                ->type_name("FILE.safetensors");
  add("--checkpoint-steps", training.checkpoint_steps,
      "write it also after so many steps")
      ->check(CLI::Range(0, 1000000000))
      ->needs(checkpoint);
  app.add_flag("--resume", training.resume,
               "go on from the checkpoint, if it is there")
      ->needs(train)
      ->needs(checkpoint);
}

/// A profile is over many runs, after some that warm up, unless the user wants
/// others.
static void choose_runs(const CLI::App &app, RunOptions &options) {
  constexpr uint32_t kWarmup = 3;
  if (app.count("--runs") == 0)
    options.runs = 0;
  if (app.count("--warmup") == 0)
    options.warmup = kWarmup;
}

/// What to do about a model in the place of an artifact.
static std::string hint(const std::string &artifact, const tinh::Error &error) {
  std::filesystem::path path(artifact);
  std::string kind = path.extension();
  if (error.status() != TINH_INVALID_ARTIFACT ||
      (kind != ".onnx" && kind != ".json" && kind != ".mlir" &&
       kind != ".mlirbc"))
    return "";
  return "; compile it first: graph-compile " + artifact + " -o " +
         path.replace_extension(".so").string();
}

/// Of all ranks the first one writes files, but for traces, which are each's,
/// and for a state that may have parts.
static void share_files(RunOptions &options, const Ranks &ranks) {
  options.of_context.collectives = ranks.table();
  if (std::optional<uint32_t> gpu = ranks.gpu())
    options.of_context.cuda_device = *gpu;
  options.trace = ranks.own_file(options.trace);
  if (ranks.is_first())
    return;
  options.output_dir.clear();
  if (!options.train)
    options.save_state.clear();
  if (is_page(options.profile))
    options.profile = "time";
}

/// What `error` is to the user, and the exit code for it.
static std::pair<std::string, int> describe(const std::exception &error,
                                            const RunOptions &options) {
  std::string text = printable(error.what(), true);
  if (auto *of_runtime = dynamic_cast<const tinh::Error *>(&error)) {
    text += hint(options.artifact, *of_runtime);
    if (of_runtime->status() != TINH_INTERNAL)
      return {"error: " + text, exit_wrong_input};
  } else if (dynamic_cast<const UserError *>(&error)) {
    return {"error: " + text, exit_wrong_input};
  } else if (dynamic_cast<const std::bad_alloc *>(&error)) {
    return {"error: out of memory", exit_wrong_input};
  }
  return {"internal error: " + text, exit_internal};
}

/// Says what has gone wrong, to the other ranks as well, unless they know.
static int fail(const std::exception &error, const RunOptions &options,
                Ranks &ranks) {
  auto [text, code] = describe(error, options);
  std::string who =
      ranks.are_many() ? "rank " + std::to_string(ranks.rank()) + ": " : "";
  std::fprintf(stderr, "graph-run: %s%s\n", who.c_str(), text.c_str());
  if (!ranks.are_many())
    return code;
  auto *of_runtime = dynamic_cast<const tinh::Error *>(&error);
  if (!of_runtime || of_runtime->status() != TINH_COLLECTIVE_FAILED)
    ranks.give_up(error.what());
  // Neither MPI, which would wait for all, nor what it may still write to ends
  // in order.
  std::fflush(nullptr);
  std::_Exit(code);
}

int tinh::tools::graph_run(int argc, char **argv) {
  RunOptions options;
  CLI::App app("Runs a compiled model.", "graph-run");
  define_options(app, options);
  define_state(app, options);
  define_training(app, options.training);
  define_ranks(app, options);
  if (auto done = parse(app, argc, argv))
    return *done;
  if (!options.profile.empty())
    choose_runs(app, options);
  Ranks ranks;
  try {
    if (tinh_collectives_library() && is_for_ranks(options))
      ranks = Ranks::join(options.timeout, library_for_ranks(options));
    share_files(options, ranks);
    options.train ? train(options, ranks) : run(options, ranks);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw UserError("cannot write to the standard output");
    return exit_success;
  } catch (const std::exception &error) {
    return fail(error, options, ranks);
  }
}
