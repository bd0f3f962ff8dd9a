// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Draws the page, and shares what is selected between its pictures.

const sections = [
  graphSection, timelineSection, rooflineSection, arenaSection, compileSection, comparisonSection,
  kernelsSection
];

// What is shown: the function, what is selected in it and from where, the pictures.
const page = {
  fn: null,
  selection: null,
  opener: null,
  pictures: [],
  width: null,
  paper: null
};

function showFunction(fn) {
  page.opener = null;
  select(null);
  page.fn = prepare(fn);
  drawHead(fn);
  const main = document.getElementById('main');
  const present = sections.filter((section) => section.isPresent(fn));
  drawNavigation(present);
  main.replaceChildren();
  page.pictures = present.map((section) => buildSection(main, section, fn));
  page.width = null;
  resizePictures();
}

function drawNavigation(present) {
  document.getElementById('nav').replaceChildren(...present.map(
      ({id, title}) => element('a', {href: `#${id}`, click: (event) => goTo(event, id)}, title)));
}

function buildSection(main, {id, title, build}, fn) {
  const body = element('div', {class: 'body'});
  main.append(element('section', {id, tabindex: -1, 'aria-labelledby': `${id}-title`},
      element('h2', {id: `${id}-title`}, title), body));
  return {id, ...build(body, fn)};
}

// Draws for the width that there is, or for that of paper.
function resizePictures() {
  const body = document.querySelector('section > .body');
  const width = page.paper || (body && body.clientWidth);
  if (width === page.width) return;
  page.width = width;
  for (const picture of page.pictures)
    if (picture.resize) picture.resize(width);
}

// Selects in all pictures. From the keyboard the details get the focus, and closing them
// gives it back to the opener.
function select(selection, opener = null, byKeyboard = isByKeyboard()) {
  const wasOpen = !panel.hidden;
  page.selection = selection;
  if (opener) page.opener = opener;
  keepInPlace(page.opener, () => {
    panel.hidden = !selection;
    document.body.classList.toggle('with-details', Boolean(selection));
    resizePictures();
  });
  if (selection) showDetails(page.fn, selection);
  if (selection && opener) keepVisible(opener);
  for (const picture of page.pictures)
    if (picture.mark) picture.mark(selection);
  if (selection && byKeyboard) panel.focus();
  if (!selection && wasOpen) returnFocus();
}

const isByKeyboard = () => {
  const event = d3.event || window.event;
  return Boolean(event && event.type === 'click' && event.detail === 0);
};

function returnFocus() {
  if (page.opener && page.opener.isConnected) page.opener.focus({preventScroll: true});
  page.opener = null;
}

// What was clicked stays where it is although the page gets narrower or wider: within the
// graph's window, and then with it.
function keepInPlace(item, change) {
  if (!item || !item.isConnected) return change();
  const topOf = (node) => node.getBoundingClientRect().top;
  const graph = item.closest('.graph') || item;
  const before = {item: topOf(item), graph: topOf(graph)};
  change();
  graph.scrollTop += topOf(item) - topOf(graph) - before.item + before.graph;
  document.documentElement.scrollTop += topOf(item) - before.item;
}

// On small screens the details cover what is below them.
function keepVisible(item) {
  const {top, width} = panel.getBoundingClientRect();
  const covered = item.getBoundingClientRect().bottom + 8 - top;
  if (width > innerWidth / 2 && covered > 0) scrollBy(0, covered);
}

function setPaper(width) {
  page.paper = width;
  resizePictures();
}

function showInGraph() {
  const graph = page.pictures.find(({id}) => id === 'graph');
  if (graph) graph.show(page.selection);
}

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && page.selection) closeDetails();
});
window.addEventListener('beforeprint', () => setPaper(680));
window.addEventListener('afterprint', () => setPaper(null));

if (data.functions && data.functions.length)
  showFunction(data.functions[0]);
else
  showFunction({
    name: 'main',
    inputs: [],
    outputs: [],
    ops: [],
    steps: [],
    blocks: [],
    arena: null,
    profile: null,
    timeline: null
  });
new ResizeObserver(() => requestAnimationFrame(resizePictures))
    .observe(document.getElementById('main'));
requestAnimationFrame(() => {
  document.documentElement.dataset.drawn = 'yes';
});
