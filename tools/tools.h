//===- tools.h - The tools as functions -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_TOOLS_H
#define TINH_TOOLS_TOOLS_H

namespace tinh::tools {

// What the programs of these names do, with the arguments of main: the exit
// code. They are made for a process of their own: they may take over its
// signals or end it.
int graph_compare(int argc, char **argv);
int graph_compile(int argc, char **argv);
int graph_prune(int argc, char **argv);
int graph_quantize(int argc, char **argv);
int graph_reduce(int argc, char **argv);
int graph_run(int argc, char **argv);
int graph_scale(int argc, char **argv);

} // namespace tinh::tools

#endif // TINH_TOOLS_TOOLS_H
