// Search over all pages. The index is loaded when somebody goes to the box, and every word has to be in a section.
const RESULTS_MAX = 20;
const EXCERPT_CHARS = 160;
const area = document.querySelector('[role=search]');
const box = area.querySelector('input');
const count = area.querySelector('[role=status]');
const list = area.querySelector('ul');
const plain = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

let loading;
const load = () => (loading ??= import(area.dataset.index).then(({ default: pages }) =>
  pages.flatMap(({ name, path, sections }) => sections.map(([anchor, heading, text]) => ({
    name, address: `${path}#${anchor}`, heading, text,
    names: [plain(anchor), plain(heading)], head: plain(`${name} ${heading}`), body: plain(text),
  })))));

// A word in the heading counts more than one in the text; a section with the name that was asked for comes first.
const score = ({ names, head, body }, words, whole) => {
  if (!words.every((word) => head.includes(word) || body.includes(word))) return 0;
  const hits = words.filter((word) => head.includes(word)).length;
  return 1 + 4 * hits + 2 * body.includes(whole) + 8 * names.includes(whole);
};

const excerpt = ({ text, body }, word) => {
  const start = Math.max(0, body.indexOf(word) - EXCERPT_CHARS / 4);
  const cut = text.slice(start, start + EXCERPT_CHARS);
  return `${start > 0 ? '…' : ''}${cut}${start + EXCERPT_CHARS < text.length ? '…' : ''}`;
};

const result = (section, word) => {
  const link = document.createElement('a');
  link.href = section.address;
  link.append(Object.assign(document.createElement('b'), { textContent: `${section.name}: ${section.heading}` }));
  link.append(Object.assign(document.createElement('span'), { textContent: excerpt(section, word) }));
  const item = document.createElement('li');
  item.append(link);
  return item;
};

const show = async () => {
  const asked = box.value;
  const whole = plain(asked).trim();
  const sections = whole === '' ? [] : await load().catch(() => null);
  if (box.value !== asked) return;
  if (!sections) {
    count.textContent = 'The index did not load: reload the page';
    return;
  }
  const words = whole.split(/\s+/);
  const found = sections.map((section) => ({ section, score: score(section, words, whole) }))
    .filter((it) => it.score > 0).sort((a, b) => b.score - a.score);
  list.replaceChildren(...found.slice(0, RESULTS_MAX).map(({ section }) => result(section, words[0])));
  const more = found.length > RESULTS_MAX ? `, the first ${RESULTS_MAX} below` : '';
  count.textContent = whole === '' ? '' : `${found.length} ${found.length === 1 ? 'section' : 'sections'}${more}`;
};

const close = () => {
  box.value = '';
  show();
};

box.addEventListener('focus', load);
box.addEventListener('input', show);
list.addEventListener('click', close);
document.addEventListener('keydown', (event) => {
  const typing = event.target.matches('input, textarea, select');
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    box.focus();
  }
});
area.addEventListener('keydown', (event) => {
  const stops = [box, ...list.querySelectorAll('a')];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') {
    close();
    box.focus();
  } else if (step) {
    event.preventDefault();
    stops[stops.indexOf(document.activeElement) + step]?.focus();
  }
});
area.hidden = false;
