// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The head of the page: the model, the choice of a function, the essential numbers.

function drawHead(fn) {
  const head = document.getElementById('head');
  const focused = head.contains(document.activeElement);
  document.title = `${data.model || 'model'} – Tinh`;
  const facts = [
    data.made_by, data.cpu, machine.ghz && `${machine.ghz.toFixed(2)}${space}GHz`,
    machine.threads && plural(machine.threads, 'thread')
  ];
  head.replaceChildren(element('h1', {}, nameElement(data.model || 'model')),
      element(
          'p', {class: 'facts'}, ...facts.filter(Boolean).map((fact) => element('span', {}, fact))),
      functionChoice(fn), element('dl', {class: 'tiles'}, ...tiles(fn)),
      element('div', {class: 'signature'}, valuesList('Inputs', fn.inputs),
          valuesList('Outputs', fn.outputs)));
  if (focused && head.querySelector(':checked')) head.querySelector(':checked').focus();
}

function functionChoice(fn) {
  if (data.functions.length < 2) return '';
  return element('fieldset', {class: 'functions'}, element('legend', {}, 'Function'),
      ...data.functions.map((other, index) => element('label', {}, element('input', {
        type: 'radio',
        name: 'function',
        value: index,
        checked: other === fn,
        change: () => showFunction(other)
      }),
                                element('span', {}, nameElement(other.name)))));
}

function tile(term, value, note) {
  if (isNothing(value)) return null;
  return element('div', {class: Array.isArray(value) ? 'tile flow' : 'tile'},
      element('dt', {}, term), element('dd', {}, ...[].concat(value)),
      note ? element('dd', {class: 'note'}, note) : null);
}

function tiles(fn) {
  const {profile, arena} = fn;
  const {comparison} = data;
  return [
    sizeTile(fn),
    profile &&
        tile('Median of a run', formatTime(profile.median_ms),
            profile.runs &&
                `${plural(profile.runs, 'run')} on ${plural(profile.threads, 'thread')}`),
    comparison && comparison.speedup != null
        ? tile('Speedup over eager', `${formatRatio(comparison.speedup)}${space}×`,
              comparison.break_even_calls == null
                  ? null
                  : `pays after ${plural(comparison.break_even_calls, 'call')}`)
        : null,
    arena && tile('Arena', formatBytes(arena.size), arenaTileNote(arena)),
    data.compile && tile('Compile time', formatTime(compileTotal())),
  ];
}

function sizeTile({ops, steps}) {
  const used = new Set(steps.map((step) => step.kernel).filter((name) => name != null));
  const parts = [[ops.length, 'ops'], [steps.length, 'steps'], [used.size, 'kernels']].filter(
      ([count]) => count);
  if (!parts.length) return null;
  const flow =
      parts
          .flatMap(([count, unit], index) => [index ? element('span', {class: 'arrow'}, '→') : null,
                       element('span', {class: 'count'}, formatCount(count),
                           element('small', {}, ` ${unit}`))])
          .filter(Boolean);
  return tile(ops.length ? 'From ops to distinct kernels' : 'Schedule', flow);
}

function arenaTileNote({size, lower_bound: bound, unplanned}) {
  const least = bound === size ? 'the lower bound' : `lower bound ${formatBytes(bound)}`;
  return unplanned == null ? least : `${least}; without reuse ${formatBytes(unplanned)}`;
}

function valuesList(title, values) {
  if (!values || !values.length) return null;
  const entries = values.map(
      ({name, type}) => element('li', {}, nameElement(name), ' ', element('code', {}, type)));
  return element('details', {open: values.length <= 4},
      element('summary', {}, `${title} (${values.length})`), element('ul', {}, ...entries));
}
