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
                 "TEACHER.onnx[,temperature=4][,weight=0.5]: learn from the "
                 "outputs of another model of the same inputs, too")
      ->type_name("FILE.onnx[,OPTION=VALUE…]");
  app.add_flag("--learn-scales", training->learnScales,
               "train the scales of quantised tensors, too");
  app.add_option("--loss-scale", training->lossScale,
                 "dynamic[,OPTION=VALUE…] or a power of two: what the loss is "
                 "multiplied by with --precision=f16, so that gradients do not "
                 "vanish; dynamic if not given")
      ->type_name("dynamic[,OPTION=VALUE…]|NUMBER");
}

bool checkNoTraining(const training::TrainingOptions &training) {
  if (training.loss.empty() && training.optimizer.empty() &&
      training.trainable.empty() && training.distill.empty() &&
      !training.learnScales && training.lossScale.empty())
    return true;
  llvm::errs() << "error: --loss, --optimizer, --trainable, --distill, "
                  "--learn-scales and --loss-scale are about --train\n";
  return false;
}

} // namespace tinh::tools
