// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The graph before and after fusion, side by side: rows of ops, and next to them the
// steps that compute them. Each row draws its own part of the lines, from its top to its
// dot and from there to its bottom: so they meet whatever the heights of rows are, on
// paper too, where pages end. What a selected row is connected with is drawn over that,
// from measured positions.

const dotY = 12;  // as in style.css: the middle of a row's first line
const narrowGraph = 640;
const rowsAtOnce = 100;    // blocks behind so many rows are laid out when they come into view
const blocksAtOnce = 150;  // those behind are made after the page has opened, slice by slice

const graphSection = {
  id: 'graph',
  title: 'Graph',
  isPresent: (fn) => fn.blocks.length > 0,
  build: buildGraph,
};

function buildGraph(body, fn) {
  const graph = {fn, rows: new Map(), narrow: null};
  graph.window = element('div', {class: 'graph'});
  graph.sizes = new ResizeObserver(() => drawConnections(graph));
  body.append(kindLegend([...fn.ops, ...fn.steps]), searchField(graph), graph.window);
  rove(graph.window, '.row', (rows, row, key) => neighbourRow(graph, row, key));
  return {
    resize: (width) => layOutGraph(graph, width),
    mark: (selection) => markRows(graph, selection),
    show: (selection) => showRow(graph, selection),
  };
}

function layOutGraph(graph, width) {
  const narrow = width < narrowGraph;
  if (narrow !== graph.narrow) drawGraph(graph, narrow);
  if (page.paper) appendBlocks(graph, Infinity);
}

function drawGraph(graph, narrow) {
  const {fn} = graph;
  graph.narrow = narrow;
  graph.rows.clear();
  graph.sides = sidesOf(fn, narrow);
  graph.connections = svgElement('svg', {class: 'connections', 'aria-hidden': 'true'});
  graph.content = element('div', {class: 'blocks', role: 'listbox', 'aria-label': 'Ops and steps'});
  graph.added = 0;
  appendBlocks(graph, blocksAtOnce);
  graph.window.className =
      `graph ${narrow ? 'narrow' : 'wide'} ${fn.ops.length ? '' : 'steps-only'}`;
  graph.window.replaceChildren(
      graphHead(fn), element('div', {class: 'canvas'}, graph.content, graph.connections));
  graph.sizes.observe(graph.content);
  setTabStop(graph.content, graph.content.querySelector('.row'));
  markRows(graph, page.selection);
  appendLater(graph, graph.content);
}

function appendBlocks(graph, count) {
  const first = graph.added;
  const next = graph.fn.blocks.slice(first, first + count);
  graph.content.append(...next.map((block, index) => blockElement(graph, block, first + index)));
  graph.added += next.length;
}

// Until all blocks are there, or the graph is drawn anew.
function appendLater(graph, content) {
  const isComplete = graph.added === graph.fn.blocks.length;
  if (content === graph.content)
    document.documentElement.dataset.complete = isComplete ? 'yes' : 'no';
  if (content !== graph.content || isComplete) return;
  setTimeout(() => {
    if (content === graph.content) appendBlocks(graph, blocksAtOnce);
    appendLater(graph, content);
  });
}

function rowOf(graph, node) {
  if (!graph.rows.has(node)) appendBlocks(graph, Infinity);
  return graph.rows.get(node);
}

function graphHead({ops, steps}) {
  return element('div', {class: 'graph-head'},
      ops.length ? element('div', {}, `Before fusion: ${plural(ops.length, 'op')}`) : null,
      element('div', {}, `After fusion: ${plural(steps.length, 'step')}`));
}

// Ops and steps, each with where its lanes are and which lines its rows have.
function sidesOf(fn, narrow) {
  const sides = {ops: fn.ops, steps: fn.steps};
  return Object.fromEntries(Object.entries(sides).map(([name, nodes]) => {
    const lanes = d3.max(nodes, ({lane}) => lane + 1) || 0;
    const pitch = Math.min(13, (narrow ? 60 : 190) / lanes);
    const hidden = narrow && name === 'steps' && fn.ops.length > 0;
    const lines = linesOf(nodes, fn.blocks.map((block) => block[name]));
    return [
      name, {
        name,
        nodes,
        hidden,
        lines,
        width: hidden || !lanes ? 0 : 12 + pitch * lanes,
        x: (lane) => 12 + pitch * (lane + 0.5) - 4,
        radius: Math.min(4.5, pitch / 2)
      }
    ];
  }));
}

// By row and by block: the producers whose lines pass; by row, those whose lines go on below.
function linesOf(nodes, blocks) {
  const position = new Map(blocks.flat().map((index, row) => [index, row]));
  const last = (index) => d3.max(nodes[index].readers, (reader) => position.get(reader)) || 0;
  let active = [];
  const lines = {rows: new Map(), blocks: []};
  for (const block of blocks) {
    lines.blocks.push(active);
    for (const index of block) {
      const row = position.get(index);
      const above = active;
      active = active.filter((producer) => last(producer) > row);
      lines.rows.set(index, {above, passing: active, continues: last(index) > row});
      if (last(index) > row) active = [...active, index];
    }
  }
  return lines;
}

function blockElement(graph, block, index) {
  const {ops, steps} = graph.sides;
  const both = ops.nodes.length > 0;
  const kind = block.steps.length ? steps.nodes[block.steps[0]].color : 'none';
  const later = block.row > rowsAtOnce ? 'later' : '';
  const node = element('div', {
    class: `block ${index % 2 ? 'odd' : 'even'} ${later}`,
    role: 'group',
    'aria-label': `block ${index + 1}`
  },
      both ? sideElement(graph, ops, block, index) : null,
      both && block.ops.length && block.steps.length ? element('i', {class: `brace k-${kind}`})
                                                     : element('i', {class: 'brace none'}),
      sideElement(graph, steps, block, index));
  if (later)
    node.style.setProperty('--rows',
        graph.narrow ? block.ops.length + block.steps.length
                     : Math.max(block.ops.length, block.steps.length));
  return node;
}

function sideElement(graph, side, block, index) {
  const indices = block[side.name];
  const column = element('div', {class: side.name, role: 'presentation'});
  column.style.setProperty('--lanes', `${side.width}px`);
  if (graph.narrow && side.hidden) column.append(passingLines(graph.sides.ops, index));
  if (side.hidden) column.style.setProperty('--lanes', `${graph.sides.ops.width}px`);
  if (!indices.length && !graph.narrow) column.append(passingLines(side, index));
  column.append(...indices.map((node) => rowElement(graph, side, side.nodes[node])));
  return column;
}

const lanesElement = (side, ...children) =>
    svgElement('svg', {class: 'lanes', width: side.width, 'aria-hidden': 'true'}, ...children);

const verticalLine = (side, producer, from, to) => svgElement('line', {
  class: `k-${producer.color}`,
  x1: side.x(producer.lane),
  x2: side.x(producer.lane),
  y1: from,
  y2: to
});

const passingLines = (side, block) => lanesElement(side,
    ...side.lines.blocks[block].map((index) => verticalLine(side, side.nodes[index], 0, '100%')));

function rowLines(side, node) {
  const {above, passing, continues} = side.lines.rows.get(node.index);
  const x = side.x(node.lane);
  const entering =
      node.reads.filter((index) => above.includes(index)).map((index) => side.nodes[index]);
  return lanesElement(side,
      ...passing.map((index) => verticalLine(side, side.nodes[index], 0, '100%')),
      ...entering.map(
          (producer) => svgElement(
              'path', {class: `k-${producer.color}`, d: curve(side.x(producer.lane), 0, x, dotY)})),
      continues ? verticalLine(side, node, dotY, '100%') : null,
      node.far.length ? svgElement('path', {class: 'far', d: `M${x},${dotY}l-9,-8`}) : null,
      node.farReaders.length ? svgElement('path', {class: 'far', d: `M${x},${dotY}l-9,8`}) : null,
      svgElement('circle', {class: `k-${node.color}`, cx: x, cy: dotY, r: side.radius}));
}

function curve(x1, y1, x2, y2) {
  const middle = (y1 + y2) / 2;
  return x1 === x2 ? `M${x1},${y1}V${y2}`
                   : `M${x1},${y1}C${x1},${middle} ${x2},${middle} ${x2},${y2}`;
}

function rowElement(graph, side, node) {
  const content = side.name === 'ops' ? opContent(node) : stepContent(graph.fn, node);
  const row = element('div', {
    class: `row ${side.name === 'ops' ? 'op' : 'step'} k-${node.color}`,
    role: 'option',
    tabindex: -1,
    'aria-selected': 'false'
  },
      side.hidden ? null : rowLines(side, node), content);
  row.addEventListener('click', (event) => {
    if (event.detail && String(getSelection())) return;  // text was marked to be copied
    setTabStop(graph.content, row);
    select(selections[side.name === 'ops' ? 'op' : 'step'](graph.fn, node.index), row,
        event.detail === 0);
  });
  graph.rows.set(node, row);
  return row;
}

function nodeNames(nodes) {
  if (!nodes.length) return null;
  const more = nodes.length > 1 ? ` +${nodes.length - 1}` : null;
  return element('span', {class: 'nodes'}, nameElement(nodes[0]), more);
}

function opContent(op) {
  return element('div', {class: 'text'}, element('b', {}, op.op),
      nodeNames(op.nodes) || element('span', {class: 'nodes'}),
      element('code', {class: 'type'}, op.type));
}

function stepContent(fn, step) {
  const box =
      element('div', {class: 'text'}, element('span', {class: 'number'}, String(step.index)),
          element('b', {}, nameElement(stepName(step))),
          step.device === 'cpu' ? null : element('span', {class: 'device'}, step.device),
          fn.ops.length ? null : nodeNames(step.nodes), stepCost(fn, step), stepPlan(step));
  box.style.setProperty('--depth', step.depth || 0);
  return box;
}

// The time of a step, with a bar: how it compares with the longest one.
function stepCost(fn, step) {
  if (!step.measured || step.measured.ms == null) return null;
  const bar = element('i', {class: `bar k-${step.color}`});
  bar.style.setProperty('--share', step.share / fn.largestShare || 0);
  return element(
      'span', {class: 'cost'}, `${formatTime(step.ms)}, ${formatShare(step.share)}`, bar);
}

// How a step is computed, where its ops leave room to say it.
function stepPlan(step) {
  const parts = [
    step.code && step.code.strategy,
    step.kind !== 'loop' && step.chunks > 1 ? plural(step.chunks, 'chunk') : null
  ].filter(Boolean);
  if (!parts.length || step.block.ops.length < 2 * step.block.steps.length) return null;
  return element('small', {class: 'plan'}, nameElement(parts.join(', ')));
}

// Up and down within a column, left and right between an op and its step.
function neighbourRow(graph, row, key) {
  const isOp = row.classList.contains('op');
  appendBlocks(graph, Infinity);
  if (key !== 'ArrowLeft' && key !== 'ArrowRight')
    return inList([...graph.content.querySelectorAll(isOp ? '.op' : '.step')], row, key);
  if (isOp !== (key === 'ArrowRight')) return row;
  return row.closest('.block').querySelector(isOp ? '.step' : '.op') || row;
}

function markRows(graph, selection) {
  for (const row of graph.content.querySelectorAll('.selected, .related')) {
    row.classList.remove('selected', 'related');
    row.setAttribute('aria-selected', 'false');
  }
  if (selection) {
    selection.ops.forEach((op) => markRow(graph, graph.fn.ops[op], selection.type === 'op'));
    selection.steps.forEach(
        (step) => markRow(graph, graph.fn.steps[step], selection.type !== 'op'));
  }
  drawConnections(graph);
}

function markRow(graph, node, selected) {
  const row = rowOf(graph, node);
  row.classList.add(selected ? 'selected' : 'related');
  row.setAttribute('aria-selected', String(selected));
}

// The lines of the selected row, from dot to dot; those to rows far away are dashed and
// run beside the lanes.
function drawConnections(graph) {
  const {selection} = page;
  const paths = [];
  if (selection && selection.type === 'op')
    paths.push(...connections(graph, graph.sides.ops, selection.index));
  if (selection && selection.type === 'step')
    paths.push(...connections(graph, graph.sides.steps, selection.index));
  graph.connections.replaceChildren(...paths);
}

function connections(graph, side, index) {
  if (side.hidden) return [];
  const node = side.nodes[index];
  const origin = graph.connections.getBoundingClientRect();
  const point = (other) => dotPosition(graph, side, side.nodes[other], origin);
  const near = [
    ...node.reads.map((read) => [read, index]), ...node.readers.map((reader) => [index, reader])
  ];
  const far = [
    ...node.far.map((read) => [read, index]), ...node.farReaders.map((reader) => [index, reader])
  ];
  return [
    ...near.map(
        ([from, to]) => svgElement('path', {class: 'near', d: nearPath(point(from), point(to))})),
    ...far.map(
        ([from, to]) => svgElement('path', {class: 'far', d: farPath(point(from), point(to))}))
  ];
}

function dotPosition(graph, side, node, origin) {
  const lanes = rowOf(graph, node).querySelector('.lanes').getBoundingClientRect();
  return {
    x: lanes.left - origin.left + side.x(node.lane),
    y: lanes.top - origin.top + dotY,
    gutter: lanes.left - origin.left + 3
  };
}

const nearPath = (from, to) => `M${from.x},${from.y}L${from.x},${to.y - dotY}${
    curve(from.x, to.y - dotY, to.x, to.y).slice(1).replace(/^[^CV]*/, '')}`;

const farPath = (from, to) =>
    `M${from.x},${from.y}Q${from.gutter},${from.y} ${from.gutter},${from.y + dotY}` +
    `V${to.y - dotY}Q${to.gutter},${to.y} ${to.x},${to.y}`;

function showRow(graph, {type, index, ops, steps}) {
  const node = type === 'op' ? graph.fn.ops[index]
                             : graph.fn.steps[d3.min([...steps])] || graph.fn.ops[d3.min([...ops])];
  const row = rowOf(graph, node);
  setTabStop(graph.content, row);
  row.scrollIntoView({block: 'center'});
  row.focus({preventScroll: true});
}

// The search: rows that have the text stay as they are, others fade.
function searchField(graph) {
  const found = element('output', {class: 'found'});
  const search = {graph, found, matches: [], current: -1};
  const input = element('input', {
    type: 'search',
    'aria-label': 'Find ops, steps, nodes, types',
    placeholder: 'Find ops, nodes, kernels',
    spellcheck: 'false',
    autocomplete: 'off',
    input: () => findRows(search, input.value),
    keydown: (event) => searchKey(event, search, input)
  });
  const jump = (label, text, by) => element(
      'button', {type: 'button', 'aria-label': label, click: () => jumpToMatch(search, by)}, text);
  return element('div', {class: 'search', role: 'search'}, input, jump('Previous match', '↑', -1),
      jump('Next match', '↓', 1), found,
      element('span', {class: 'hint'}, 'Click a row for details, or use arrow keys and Enter.'));
}

function searchKey(event, search, input) {
  if (event.key === 'Enter') jumpToMatch(search, event.shiftKey ? -1 : 1);
  if (event.key !== 'Escape' || !input.value) return;
  event.stopPropagation();
  event.preventDefault();
  input.value = '';
  findRows(search, '');
}

const searchText =
    (node) => [node.op, node.type, node.kernel, node.op ? null : node.kind, ...node.nodes]
                  .filter(Boolean)
                  .join('\n')
                  .toLowerCase();

function findRows(search, text) {
  const {graph, found} = search;
  const wanted = text.trim().toLowerCase();
  search.matches = [];
  search.current = -1;
  for (const node of rowsInOrder(graph.fn)) {
    const matches = !wanted || searchText(node).includes(wanted);
    const row = rowOf(graph, node);
    row.classList.toggle('faded', !matches);
    row.classList.remove('match');
    if (wanted && matches) search.matches.push(node);
  }
  found.textContent = wanted ? plural(search.matches.length, 'row') : '';
}

const rowsInOrder = (fn) => fn.blocks.flatMap(
    ({ops, steps}) => [...ops.map((op) => fn.ops[op]), ...steps.map((step) => fn.steps[step])]);

function jumpToMatch(search, by) {
  const {graph, matches, found} = search;
  if (!matches.length) return;
  search.current = search.current < 0 ? (by > 0 ? 0 : matches.length - 1)
                                      : (search.current + by + matches.length) % matches.length;
  for (const row of graph.content.querySelectorAll('.match')) row.classList.remove('match');
  const row = rowOf(graph, matches[search.current]);
  row.classList.add('match');
  setTabStop(graph.content, row);
  row.scrollIntoView({block: 'center'});
  found.textContent = `${search.current + 1} of ${plural(matches.length, 'row')}`;
}
