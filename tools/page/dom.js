// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elements, numbers as text, and moving between elements by arrow keys. Text from
// the data reaches the page as text nodes only, never as HTML.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function')
      node.addEventListener(name, value);
    else if (value != null && value !== false)
      node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

// A name from the model, which may be in any script and direction. Where it is too long
// for a line it goes on in the next one, behind a slash if there is one.
function nameElement(name) {
  const parts = name.length > 12 ? name.split(/(?<=[/])(?=[^/])/) : [name];
  return element(
      'bdi', {}, ...parts.flatMap((part, index) => (index ? [element('wbr'), part] : [part])));
}

const space = '\u00a0';
const missing = '–';

function withUnit(value, unit) {
  if (value == null) return missing;
  if (value === 0) return `0${space}${unit}`;
  const [, digits, prefix] = /^(.*?)([a-zµ]?)$/i.exec(d3.format('.3s')(value));
  return `${digits}${space}${prefix}${unit}`;
}

const formatBytes = (bytes) =>
    bytes != null && bytes < 1000 ? `${bytes}${space}B` : withUnit(bytes, 'B');
const formatCount = (count) => (count == null ? missing : d3.format(',')(count));
const formatShare = (share) => (share == null ? missing : `${(100 * share).toFixed(1)}${space}%`);
const formatRatio = (ratio) => (ratio == null ? missing : d3.format('.3~r')(ratio));
const formatRate = (rate) => (rate == null ? missing
                                           : d3.format(rate < 1   ? '.2f'
                                                     : rate < 100 ? '.1f'
                                                                  : ',.0f')(rate));

function formatTime(ms) {
  if (ms != null && ms >= 1e6) return `${formatCount(Math.round(ms / 1000))}${space}s`;
  return withUnit(ms == null ? null : ms / 1000, 's');
}

// On axes: no digits that say nothing.
const formatTimeTick = (ms) =>
    (ms ? `${d3.format('~s')(ms / 1000).replace(/[a-zµ]?$/i, `${space}$&s`)}` : '0');
const formatBytesTick = (bytes) =>
    (bytes ? d3.format('~s')(bytes).replace(/[a-z]?$/i, `${space}$&B`) : '0');

const plural = (count, noun) => `${formatCount(count)}${space}${noun}${count === 1 ? '' : 's'}`;

// How far an arrow key goes in a list; undefined for other keys.
const strides = {
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
  PageUp: -10,
  PageDown: 10,
  Home: -Infinity,
  End: Infinity,
};

function inList(items, current, key) {
  const index = items.indexOf(current) + strides[key];
  return items[Math.max(0, Math.min(items.length - 1, index))];
}

// Of all items of a container, one is reached by Tab; arrow keys go to others, Enter
// and the space bar act as a click. `neighbour` finds the item that a key leads to.
function rove(container, selector, neighbour = inList) {
  container.addEventListener('keydown', (event) => {
    const current = event.target.closest(selector);
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter' || event.key === ' ')
      activate(event, current);
    else if (event.key in strides) {
      event.preventDefault();
      focusItem(
          container, neighbour([...container.querySelectorAll(selector)], current, event.key));
    }
  });
}

function activate(event, item) {
  event.preventDefault();
  item.dispatchEvent(new MouseEvent('click', {bubbles: true, detail: 0}));
}

function focusItem(container, item) {
  if (!item) return;
  setTabStop(container, item);
  item.focus();
}

function setTabStop(container, item) {
  for (const stop of container.querySelectorAll('[tabindex="0"]'))
    stop.setAttribute('tabindex', -1);
  if (item) item.setAttribute('tabindex', 0);
}

// Links within the page, by hand: in a frame without an address of its own they would
// lead out of it.
function goTo(event, id) {
  event.preventDefault();
  const target = document.getElementById(id);
  target.scrollIntoView();
  target.focus({preventScroll: true});
}
