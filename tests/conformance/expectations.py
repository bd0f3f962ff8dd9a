# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The list of cases that the compiler refuses, grouped by reason.

# Why, for readers: of the group, or of several up to the next comment.
[a regular expression that the compiler's message matches]
test_of_some_op
test_of_another
"""

import dataclasses
import re


@dataclasses.dataclass
class Group:
    comment: list
    pattern: str
    cases: list


def read(path):
    groups, comment = [], []
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            comment.append(line)
        elif line.startswith("["):
            groups.append(Group(comment, line[1:-1], []))
            comment = []
        elif line:
            groups[-1].cases.append(line)
    return groups


def find_group(groups, outcome):
    """The first group whose message the outcome has."""
    for group in groups:
        if re.search(group.pattern, outcome.message):
            return group
    return None


def compare(groups, outcomes, complete):
    """What differs from the list, in sentences."""
    listed = {case: group for group in groups for case in group.cases}
    problems = []
    for outcome in outcomes:
        group = listed.pop(outcome.name, None)
        if outcome.status == "wrong":
            problems.append(f"{outcome.name}: {outcome.message}")
        elif outcome.status == "passed" and group:
            problems.append(f"{outcome.name} passes now: take it off the list")
        elif outcome.status == "refused" and not group:
            problems.append(f"{outcome.name} is refused: {outcome.message}")
        elif outcome.status == "refused" and not re.search(
            group.pattern, outcome.message
        ):
            problems.append(
                f"{outcome.name} is refused for another reason than "
                f"[{group.pattern}]: {outcome.message}"
            )
    if complete:
        problems += [f"{name} is listed, but is no case" for name in listed]
    return problems


def update(path, groups, outcomes):
    """Writes the list anew; what has no place in it is a problem."""
    problems = []
    for group in groups:
        group.cases = []
    for outcome in outcomes:
        if outcome.status == "passed":
            continue
        group = find_group(groups, outcome) if outcome.status == "refused" else None
        if group:
            group.cases.append(outcome.name)
        else:
            problems.append(f"{outcome.name} ({outcome.status}): {outcome.message}")
    lines = []
    for group in groups:
        lines += ["", *group.comment, f"[{group.pattern}]", *group.cases]
    path.write_text("\n".join(lines[1:]) + "\n")
    return problems
