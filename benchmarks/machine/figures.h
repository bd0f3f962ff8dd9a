//===- figures.h - What is measured, by concern -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_MACHINE_FIGURES_H
#define TINH_BENCHMARKS_MACHINE_FIGURES_H

#include "cpu.h"
#include "measure.h"
#include "vectors.h"

namespace machine {

/// The clock that additions run at.
Figures clock_figures(const Effort &effort);
/// Multiply-adds, in vectors of f32.
Figures arithmetic_figures(const Effort &effort, const Vectors &vectors);
/// Dot products of small types, by what the CPU has for them.
Figures dot_product_figures(const Effort &effort, const Cpu &cpu);
/// Loads, stores and broadcasts from the first cache.
Figures load_figures(const Effort &effort, const Cpu &cpu,
                     const Vectors &vectors);
/// Bytes in a cycle from each cache and from memory, of one core.
Figures bandwidth_figures(const Effort &effort, const Cpu &cpu,
                          const Vectors &vectors);
/// The time until a load's value is there, from each cache and from memory.
Figures latency_figures(const Effort &effort, const Cpu &cpu);
/// What addresses that are multiples of 4 KiB apart cost.
Figures aliasing_figures(const Effort &effort, const Cpu &cpu,
                         const Vectors &vectors);
/// What it takes beside the load to find one of so many pages.
Figures page_figures(const Effort &effort);
/// Two threads: memory, barriers, and waking one.
Figures thread_figures(const Effort &effort, const Vectors &vectors);

} // namespace machine

#endif // TINH_BENCHMARKS_MACHINE_FIGURES_H
