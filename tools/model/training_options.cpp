//===- training_options.cpp - How a model is to be trained ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "training_options.h"

#include "llvm/Support/raw_ostream.h"

namespace tinh::tools {

/// --data-parallel, and what it is with.
static void addDataParallel(CLI::App &app,
                            std::optional<training::DataParallel> *ranks) {
  auto options = [ranks]() -> training::DataParallel & {
    return *ranks ? **ranks : ranks->emplace();
  };
  CLI::Option *parallel = app.add_flag_callback(
      "--data-parallel", [options] { options(); },
      "average gradients over the ranks that mpirun starts, each of which has "
      "a part of the batch");
  app.add_flag_callback(
         "--sync-batch-norm", [options] { options().syncBatchNorm = true; },
         "normalise by the batches of all ranks")
      ->needs(parallel);
  app.add_option_function<int64_t>(
         "--shard-optimizer",
         [options](int64_t shards) { options().shards = shards; },
         "divide the optimizer's state (ZeRO, stage 1) among so many ranks, "
         "which there must "
         "be then")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("RANKS")
      ->needs(parallel);
  app.add_option_function<std::string>(
         "--communication-dtype",
         [options](const std::string &dtype) {
           options().communicationDtype = dtype;
         },
         "send gradients of f32 as bf16; as they are if not given")
      ->check(CLI::IsMember({"bf16"}))
      ->type_name("bf16")
      ->needs(parallel);
}

void addTraining(CLI::App &app, bool *train,
                 training::TrainingOptions *training) {
  app.add_flag("--train", *train,
               "make functions train_step, evaluate and predict of the model, "
               "whose weights become variables");
  app.add_option("--loss", training->loss,
                 "NAME[,OPTION=VALUE…]: mse, cross_entropy, …; of the model's "
                 "first output and a target");
  app.add_option("--optimizer", training->optimizer,
                 "NAME[,OPTION=VALUE…]: sgd,lr=0.1,momentum=0.9, adam, …");
  app.add_option("--trainable", training->trainable,
                 "a pattern, such as 'fc*': of the weights only those are "
                 "trained whose names fit one; others stay as they are");
  app.add_option("--distill", training->distill,
                 "TEACHER.onnx[,temperature=4][,weight=0.5]: knowledge "
                 "distillation: learn from the outputs of a teacher, another "
                 "model of the same inputs, too")
      ->type_name("FILE.onnx[,OPTION=VALUE…]");
  app.add_flag("--learn-scales", training->learnScales,
               "train the scales of quantised tensors, too");
  app.add_option("--loss-scale", training->lossScale,
                 "dynamic[,OPTION=VALUE…] or a power of two: what the loss is "
                 "multiplied by with --precision=f16, so that gradients do not "
                 "vanish; dynamic if not given")
      ->type_name("dynamic[,OPTION=VALUE…]|NUMBER");
  app.add_option("--accumulate", training->accumulate,
                 "gradient accumulation: a step takes so many batches of the "
                 "model, one after the other, and updates by the mean of their "
                 "gradients")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("BATCHES");
  app.add_option("--clip-grad-norm", training->clipGradNorm,
                 "scale gradients down so that the norm of all of them "
                 "together is at most this")
      ->check(positive_in_f32())
      ->type_name("NORM");
  addDataParallel(app, &training->dataParallel);
}

bool checkNoTraining(const training::TrainingOptions &training) {
  if (training.loss.empty() && training.optimizer.empty() &&
      training.trainable.empty() && training.distill.empty() &&
      !training.learnScales && training.lossScale.empty() &&
      !training.dataParallel && training.accumulate == 1 &&
      !training.clipGradNorm)
    return true;
  llvm::errs() << "error: --loss, --optimizer, --trainable, --distill, "
                  "--learn-scales, --loss-scale, --accumulate, "
                  "--clip-grad-norm and --data-parallel are about --train\n";
  return false;
}

} // namespace tinh::tools
