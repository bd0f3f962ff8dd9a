// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where buffers lie in the arena, from the step that writes one to the last that uses it.

const arenaSection = {
  id: 'arena',
  title: 'Arena',
  isPresent: (fn) => fn.arena != null && fn.arena.buffers.length > 0,
  build: buildArena,
};

function buildArena(body, fn) {
  const buffers =
      fn.arena.buffers.map((buffer, index) => ({...buffer, index, step: fn.steps[buffer.first]}));
  const picture =
      createPicture(body, 'Buffers by step and place', {top: 26, right: 14, bottom: 44, left: 62});
  const arena = {...picture, ...fn.arena, fn, buffers};
  body.prepend(arenaNote(fn.arena), arenaLegend(buffers));
  prepareArena(arena);
  rove(arena.marks.node(), 'rect');
  return {
    resize: (width) => resizeArena(arena, width),
    mark: (selection) => markBuffers(arena, selection)
  };
}

function arenaNote({size, lower_bound: bound, unplanned, buffers}) {
  const part = (term, bytes) =>
      element('span', {class: 'part'}, element('b', {}, formatBytes(bytes)), ` ${term}`);
  return element('p', {class: 'note parts'}, part('arena', size),
      part('lower bound: the most that is live at once', bound), part('without reuse', unplanned),
      element('span', {class: 'part'}, element('b', {}, formatCount(buffers.length)),
          ` buffer${buffers.length === 1 ? '' : 's'}`));
}

function arenaLegend(buffers) {
  const legend = kindLegend(buffers.map(({step}) => step));
  legend.append(legendEntry('live', 'live bytes'), legendEntry('bound', 'lower bound'));
  return legend;
}

function prepareArena(arena) {
  arena.axes = {x: arena.layer('axis'), y: arena.layer('axis')};
  arena.band = arena.layer('band').append('rect');
  arena.marks = arena.layer('marks');
  arena.curve = arena.layer('live').append('path');
  arena.bound = arena.layer('bound').append('line');
  arena.texts = arena.layer('mark-texts').attr('aria-hidden', 'true');
  arena.titles = arena.layer('titles');
  arena.rects = arena.marks.selectAll('rect')
                    .data(arena.buffers)
                    .enter()
                    .append('rect')
                    .attr('class', ({step}) => `mark k-${step.color}`);
  makeSelectable(arena.rects,
      (buffer) => `${formatBytes(buffer.size)} at ${formatBytes(buffer.offset)}, written by step ${
                      buffer.first}, ` +
          `last used by step ${buffer.last}`,
      (buffer) => selections.buffer(arena.fn, buffer.index));
  ensureTabStop(arena.marks, 'rect');
}

function resizeArena(arena, width) {
  const {margin, fn, size} = arena;
  const height = Math.max(280, Math.min(420, width * 0.45));
  resizePicture(arena, width, height);
  const x = d3.scaleLinear([0, fn.steps.length], [margin.left, width - margin.right]);
  const y = d3.scaleLinear([0, size || 1], [height - margin.bottom, margin.top]);
  Object.assign(arena, {x, y, width, height});
  arena.rects.attr('x', ({first}) => x(first))
      .attr('width', ({first, last}) => x(last + 1) - x(first))
      .attr('y', ({offset, size: bytes}) => y(offset + bytes))
      .attr('height', ({size: bytes}) => Math.max(0.75, y(0) - y(bytes)));
  drawBufferTexts(arena);
  drawLiveBytes(arena);
  drawArenaAxes(arena);
  markBuffers(arena, page.selection);
}

function drawBufferTexts({buffers, texts: layer, x, y}) {
  const text = ({first, last, step, size}) => y(0) - y(size) < 15
      ? ''
      : fitting([`${first} ${stepName(step)}`, String(first)], x(last + 1) - x(first) - 6);
  layer.selectAll('text')
      .data(buffers.filter(text))
      .join('text')
      .attr('class', ({step}) => `k-${step.color}`)
      .text(text)
      .attr('x', ({first, last}) => x((first + last + 1) / 2))
      .attr('y', ({offset, size}) => y(offset + size / 2) + 4);
}

function drawLiveBytes({curve: path, bound, live, lower_bound: bytes, x, y}) {
  const points =
      [...live.map((value, step) => [step, value]), [live.length, live[live.length - 1]]];
  path.attr('d',
      d3.line().x(([step]) => x(step)).y(([, value]) => y(value)).curve(d3.curveStepAfter)(points));
  bound.attr('x1', x.range()[0]).attr('x2', x.range()[1]).attr('y1', y(bytes)).attr('y2', y(bytes));
}

function drawArenaAxes({axes, titles, x, y, size, margin, width, height}) {
  const steps =
      d3.axisBottom(x).ticks(Math.min(x.domain()[1], (width - 80) / 70)).tickFormat(d3.format('d'));
  drawAxis(axes.x, steps, 0, height - margin.bottom);
  drawAxis(axes.y, d3.axisLeft(y).ticks(6).tickFormat(formatBytesTick), margin.left, 0);
  drawTitles(titles, {right: width - margin.right, bottom: height - 8},
      {left: `${formatBytes(size)} in all`, right: 'steps'});
}

// The selected buffer or, of a step, those that it writes; and when the step is.
function markBuffers({rects, band, x, y}, selection) {
  const isBuffer = selection && selection.type === 'buffer';
  const isSelected = byStep(selection);
  markSelected(
      rects, ({index, first}) => (isBuffer ? index === selection.buffer : isSelected(first)));
  rects.filter('.selected').raise();
  const steps = selection && selection.type !== 'kernel' ? [...selection.steps] : [];
  band.attr('display', steps.length && x ? null : 'none');
  if (!steps.length || !x) return;
  band.attr('x', x(d3.min(steps)))
      .attr('width', x(d3.max(steps) + 1) - x(d3.min(steps)))
      .attr('y', y.range()[1])
      .attr('height', y.range()[0] - y.range()[1]);
}

function bufferFacts(fn, {offset, size, first, last}) {
  return facts([
    ['Size', `${formatBytes(size)} (${formatCount(size)} bytes)`],
    ['At', `${formatCount(offset)} of ${formatCount(fn.arena.size)} bytes`],
    ['Written by', stepLink(fn, fn.steps[first])], ['Last used by', stepLink(fn, fn.steps[last])]
  ]);
}

function arenaFacts(fn, step) {
  if (!fn.arena) return null;
  const written = fn.arena.buffers.map((buffer, index) => ({...buffer, index}))
                      .filter(({first}) => first === step.index);
  const link = ({index, size, offset, last}) => linkTo(selections.buffer(fn, index),
      `${formatBytes(size)} at ${formatCount(offset)}, until step ${last}`);
  return facts([
    ['In use', fn.arena.live[step.index] == null ? null : formatBytes(fn.arena.live[step.index])],
    ['Writes', links(written.map(link))]
  ]);
}
