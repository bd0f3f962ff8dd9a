// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What all pictures have in common: an SVG that is drawn anew for each width, marks
// that can be selected, texts that fit.

const textWidth = (() => {
  const context = document.createElement('canvas').getContext('2d');
  const {fontFamily} = getComputedStyle(document.body);
  return (text, size = 11) => {
    context.font = `${size}px ${fontFamily}`;
    return context.measureText(text).width;
  };
})();

// An SVG within a figure; `margin` is the room for axes.
function createPicture(body, label, margin) {
  const svg = d3.select(body)
                  .append('svg')
                  .attr('class', 'picture')
                  .attr('role', 'group')
                  .attr('aria-label', label);
  return {svg, margin, layer: (name) => svg.append('g').attr('class', name)};
}

function resizePicture({svg}, width, height) {
  svg.attr('viewBox', `0 0 ${width} ${height}`).attr('width', width).attr('height', height);
}

// Marks that are selected by a click or Enter; `label` is what a screen reader says.
function makeSelectable(marks, label, selectionOf) {
  marks.attr('tabindex', -1)
      .attr('role', 'button')
      .attr('aria-label', label)
      .on('click', function(item) {
        setTabStop(this.parentNode, this);
        select(selectionOf(item), this);
      });
}

function ensureTabStop(layer, selector) {
  const container = layer.node();
  if (!container.querySelector('[tabindex="0"]'))
    setTabStop(container, container.querySelector(selector));
}

function markSelected(marks, isSelected) {
  marks.classed('selected', isSelected)
      .attr('aria-pressed', (item) => String(Boolean(isSelected(item))));
}

// The longest of some texts that fits into a width.
function fitting(texts, width, size) {
  return texts.find((text) => textWidth(text, size) <= width) || '';
}

const byStep = (selection) => (step) => Boolean(selection && selection.steps.has(step));

// Ticks of a logarithmic axis: powers of ten and, where there is room, their double and
// five times.
function logTicks(scale, room) {
  const [low, high] = scale.domain();
  const decades = Math.log10(high / low);
  const pixels = Math.abs(scale.range()[1] - scale.range()[0]);
  const digits = pixels / decades > 3 * room ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((room * decades) / pixels));
  const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  return powers.filter((power) => power % every === 0)
      .flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)))
      .filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

const formatTick = (value) =>
    (value >= 1e4 || value < 0.01 ? d3.format('~s')(value) : d3.format('~r')(value));

function drawAxis(layer, axis, x, y) {
  layer.attr('transform', `translate(${x},${y})`)
      .call(axis.tickSizeOuter(0))
      .attr('font-family', null)
      .attr('font-size', null)
      .attr('aria-hidden', 'true');
}

// What the axes are: at the upper left and the lower right corner.
function drawTitles(layer, size, {left = '', right = ''}) {
  layer.attr('aria-hidden', 'true')
      .selectAll('text')
      .data([left, right])
      .join('text')
      .text((text) => text)
      .attr('x', (text, index) => (index ? size.right : 2))
      .attr('y', (text, index) => (index ? size.bottom : 12))
      .attr('text-anchor', (text, index) => (index ? 'end' : 'start'));
}

const legendEntry = (className, text) =>
    element('span', {class: 'entry'}, element('i', {class: `swatch ${className}`}), text);

const usedKinds = (nodes) => kinds.filter(({id}) => nodes.some((node) => node.color === id));

const kindLegend = (nodes) => element('p', {class: 'legend'},
    ...usedKinds(nodes).map(({id, title}) => legendEntry(`k-${id}`, title)));
