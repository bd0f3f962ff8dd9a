//===- ranks.cpp - A tool as one of several ranks -------------------------===//
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
#include "ranks.h"

#include "inputs.h"
#include "tinh/gpu_collectives.h"

#include <cstdio>
#include <filesystem>

namespace tinh::tools {

Ranks Ranks::join(double timeout, const std::string &library) {
  Ranks ranks;
  if (!tinh_collectives_library())
    return ranks;
  ranks.joined.emplace(library, timeout);
  if (!ranks.is_first() && !std::freopen("/dev/null", "w", stdout))
    throw UserError("cannot write to '/dev/null'");
  return ranks;
}

std::optional<uint32_t> Ranks::gpu() const {
  tinh_collectives_t *ranks = table();
  if (!ranks || !ranks->gpu)
    return std::nullopt;
  return ranks->gpu->gpu(ranks);
}

std::string Ranks::own_file(const std::string &path) const {
  if (is_first() || path.empty())
    return path;
  std::filesystem::path name(path);
  name.replace_extension("rank-" + std::to_string(rank()) +
                         name.extension().string());
  return name.string();
}

void Ranks::broadcast(tinh_buffer_t buffer) const {
  if (joined)
    joined->broadcast(buffer);
}

std::vector<char> Ranks::all_gather(std::vector<char> &own) const {
  std::vector<char> all(own.size() * count());
  if (joined)
    joined->all_gather(buffer(own), all.data());
  else
    all = own;
  return all;
}

void Ranks::sum(std::vector<double> &numbers) const {
  if (joined)
    joined->sum(numbers);
}

void Ranks::compare(const std::string &what, const std::string &text) const {
  if (joined)
    joined->compare(what, text);
}

void Ranks::give_up(const std::string &why) {
  if (!joined)
    return;
  joined->abort(why);
  joined.reset(); // Returns when the others have been told.
}

} // namespace tinh::tools
