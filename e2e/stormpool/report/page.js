"use strict";
// Draws a run's timeline and logs from the JSON in #data. What plugins and agents have said only ever becomes
// text: by textContent or on the canvas, never markup. Times are microseconds since the run began.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const words = data.words;
  document.documentElement.classList.add("scripted");

  // ---- Times

  const SECOND = 1e6;
  const seconds = (t, digits = 3) => `${(t / SECOND).toFixed(digits)} s`;
  const lasting = (t) =>
    t >= SECOND ? seconds(t) : t >= 1000 ? `${(t / 1000).toFixed(t >= 100000 ? 0 : 1)} ms` : `${t} µs`;

  // The first place in sorted numbers whose value is at least `value`.
  const lower = (sorted, value, from = 0, to = sorted.length) => {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (sorted[middle] < value) from = middle + 1;
      else to = middle;
    }
    return from;
  };

  // ---- Tracks: the spans of one row of a lane, in the order of their starts

  const spans = data.spans;
  const count = spans.start.length;
  const starts = Float64Array.from(spans.start);
  const ends = Float64Array.from(spans.took, (took, i) => starts[i] + took);

  const trackOf = (numbers) => {
    const track = { number: Int32Array.from(numbers), start: new Float64Array(numbers.length),
      end: new Float64Array(numbers.length), latest: new Float64Array(numbers.length) };
    let latest = -1;
    numbers.forEach((number, i) => {
      track.start[i] = starts[number];
      track.end[i] = ends[number];
      track.latest[i] = latest = Math.max(latest, ends[number]);
    });
    return track;
  };

  const lanes = data.lanes.map(([group, name, rows]) => ({
    group, name: words[name], rows, numbers: Array.from({ length: rows }, () => []), bad: Array.from({ length: rows }, () => []),
  }));
  const bad = new Uint8Array(count);
  for (const number of spans.bad) bad[number] = 1;
  for (let i = 0; i < count; i++) {
    const lane = lanes[spans.lane[i]];
    lane.numbers[spans.row[i]].push(i);
    if (bad[i]) lane.bad[spans.row[i]].push(i);
  }
  for (const lane of lanes) {
    lane.tracks = lane.numbers.map(trackOf);
    lane.badTracks = lane.bad.map(trackOf);
    delete lane.numbers;
    delete lane.bad;
  }
  const CROWD = 16; // lanes of a group past which it begins collapsed
  const groups = data.groups.map((name, number) => {
    const own = lanes.filter((lane) => lane.group === number);
    return { name: words[name], lanes: own, closed: own.length > CROWD };
  });

  // ---- Looks: colours are the style's, light or dark

  let look;
  const readable = (colour) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return r * 0.299 + g * 0.587 + b * 0.114 > 150 ? "#16181c" : "#ffffff";
  };
  const readLook = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const kinds = spans.kinds.map(([, colour]) => of(colour));
    look = { kinds, inks: kinds.map(readable) };
    for (const name of ["paper", "ink", "soft", "faint", "rule", "stripe", "hover", "broken", "unknown", "band", "fault"])
      look[name] = of(name);
    look.accent = of("attach-call");
  };
  const FONT = '11px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
  const LETTER = 5.9; // pixels of one in that font, about

  // ---- Where everything is

  const canvas = byId("canvas");
  const stage = byId("stage");
  const pen = canvas.getContext("2d", { alpha: false });
  const ROW = 15, GAP = 5, TITLE = 19, OVERVIEW = 40, AXIS = 34, HEAD = OVERVIEW + AXIS;
  let width = 0, height = 0, left = 0, items = [], total = 0;
  const view = { start: 0, end: Math.max(1, data.end) };
  const SHORTEST = 50; // microseconds that a window shows at least
  const longest = Math.max(SHORTEST, data.end);

  const arrange = () => {
    items = [];
    let y = 0;
    for (const group of groups) {
      items.push({ y, tall: TITLE, group, tracks: group.closed ? group.lanes.flatMap((lane) => lane.tracks) : [] });
      y += TITLE;
      if (group.closed) continue;
      for (const lane of group.lanes) {
        const tall = lane.rows * ROW + GAP;
        items.push({ y, tall, lane, tracks: lane.tracks });
        y += tall;
      }
    }
    total = y + 8;
    byId("spacer").style.height = `${Math.max(0, HEAD + total - height)}px`;
  };

  const measure = () => {
    width = Math.max(200, stage.clientWidth);
    const room = Math.max(340, Math.round(window.innerHeight * 0.68));
    height = Math.min(room, HEAD + Math.max(total, 200));
    stage.style.height = `${height + 1}px`;
    width = Math.max(200, stage.clientWidth);
    left = width < 560 ? 104 : 158;
    const sharp = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    arrange();
    overview = null;
  };

  const toX = (t) => left + ((t - view.start) * (width - left)) / (view.end - view.start);
  const toTime = (x) => view.start + ((x - left) * (view.end - view.start)) / (width - left);

  // ---- Moving about

  const show = (start, end) => {
    const span = Math.min(longest, Math.max(SHORTEST, end - start));
    view.start = Math.min(Math.max(0, start), longest - span);
    view.end = view.start + span;
    changed();
  };
  const zoom = (factor, at) => {
    const span = Math.min(longest, Math.max(SHORTEST, (view.end - view.start) * factor));
    const share = (at - view.start) / (view.end - view.start);
    show(at - share * span, at - share * span + span);
  };
  const pan = (by) => show(view.start + by, view.end + by);
  const middle = () => (view.start + view.end) / 2;

  let current = -1; // which breach is shown
  const inBreach = new Uint8Array(count);
  const MARGIN = SECOND / 2;
  for (const breach of data.breaches) for (const number of breach.spans) inBreach[number] = 1;

  const toBreach = (number) => {
    const all = data.breaches.length;
    if (!all) return;
    current = (number + all) % all;
    const breach = data.breaches[current];
    const around = [breach.start, breach.end, ...breach.spans.flatMap((i) => [starts[i], ends[i]])];
    const from = Math.max(Math.min(...around), breach.start - 10 * SECOND);
    const to = Math.min(Math.max(...around), breach.end + 10 * SECOND);
    const margin = Math.max(MARGIN / 2, (to - from) * 0.35);
    const text = byId("breach");
    text.textContent = `breach ${current + 1} of ${all}: ${words[breach.guarantee]}. ${words[breach.what]}`;
    for (const i of breach.spans) groups[lanes[spans.lane[i]].group].closed = false;
    arrange();
    reveal(breach);
    show(from - margin, to + margin);
    followLog(breach.start);
  };

  // Scroll the lanes so that those of a breach are seen.
  const reveal = (breach) => {
    const names = new Set(breach.nodes.map((node) => words[node]));
    const wanted = new Set(breach.spans.map((i) => lanes[spans.lane[i]]));
    const seen = items.filter((item) => (wanted.size ? wanted.has(item.lane) : item.group && names.has(item.group.name)));
    if (!seen.length) return;
    const last = seen[seen.length - 1];
    const top = seen[0].y, bottom = last.y + last.tall, room = height - HEAD;
    if (top < stage.scrollTop || bottom > stage.scrollTop + room)
      stage.scrollTop = Math.max(0, Math.min(top - TITLE, bottom - room + GAP));
  };

  // ---- Drawing

  let asked = false;
  const changed = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
      laterLog();
    });
  };

  // One track: what is below a pixel is merged, so that the cost is that of the pixels, not of the spans.
  const paint = (pen, track, y, tall, x0, perTime, from, to, fill) => {
    const { start, end, latest } = track;
    const size = start.length;
    let pendingX = 0, pendingEnd = -1, pendingFill = null;
    const flush = () => {
      if (pendingFill === null) return;
      if (pen.fillStyle !== pendingFill) pen.fillStyle = pendingFill;
      pen.fillRect(pendingX, y, pendingEnd - pendingX, tall);
      pendingFill = null;
    };
    const right = x0 + (to - from) * perTime;
    for (let i = lower(latest, from); i < size && start[i] <= to; ) {
      if (end[i] < from) {
        i += 1;
        continue;
      }
      let a = x0 + (start[i] - from) * perTime;
      let b = x0 + (end[i] - from) * perTime;
      const colour = fill(track.number[i]);
      if (b - a < 1) {
        a = Math.floor(a);
        b = a + 1;
        if (pendingFill === colour && pendingEnd >= a) pendingEnd = b;
        else {
          flush();
          pendingX = a;
          pendingEnd = b;
          pendingFill = colour;
        }
        // On to the next pixel; the last that begins in this one may reach beyond it.
        const next = lower(start, from + (b - x0) / perTime, i + 1);
        const reaches = next - 1 > i && end[next - 1] > from + (b + 1 - x0) / perTime;
        i = reaches ? next - 1 : next;
        continue;
      }
      flush();
      if (a < x0) a = x0;
      if (b > right) b = right;
      if (pen.fillStyle !== colour) pen.fillStyle = colour;
      const wide = b - a > 3 ? b - a - 0.6 : b - a;
      pen.fillRect(a, y, wide, tall);
      if (wide > 34 && fill === colourOf) labels.push(track.number[i], a, wide, y, tall);
      i += 1;
    }
    flush();
  };
  let labels = [];

  const colourOf = (number) => look.kinds[spans.kind[number]];
  const badColour = () => look.unknown;

  const paintLane = (item, y) => {
    const perTime = (width - left) / (view.end - view.start);
    item.tracks.forEach((track, row) => {
      const top = item.lane ? y + row * ROW + 2 : y + 3;
      const tall = item.lane ? ROW - 2 : TITLE - 6;
      if (top + tall < HEAD || top > height) return;
      paint(pen, track, top, tall, left, perTime, view.start, view.end, colourOf);
      if (item.lane) paint(pen, item.lane.badTracks[row], top + tall - 2, 2, left, perTime, view.start, view.end, badColour);
    });
  };

  const paintLabels = () => {
    pen.font = FONT;
    pen.textBaseline = "middle";
    for (let i = 0; i < labels.length; i += 5) {
      const [number, x, wide, y, tall] = labels.slice(i, i + 5);
      const fits = Math.floor((wide - 7) / LETTER);
      if (fits < 4) continue;
      const text = words[spans.label[number]];
      pen.fillStyle = look.inks[spans.kind[number]];
      pen.fillText(text.length > fits ? `${text.slice(0, fits - 1)}…` : text, x + 4, y + tall / 2 + 0.5, wide - 6);
    }
    labels = [];
  };

  const onScreen = (item) => HEAD + item.y - stage.scrollTop;

  const lineOf = (number) => {
    const lane = lanes[spans.lane[number]];
    for (const item of items) {
      if (item.lane === lane) return { y: onScreen(item) + spans.row[number] * ROW + 2, tall: ROW - 2 };
      if (item.group && item.group.closed && item.group.lanes.includes(lane)) return { y: onScreen(item) + 3, tall: TITLE - 6 };
    }
    return null;
  };

  const outline = (number, colour, thick) => {
    const line = lineOf(number);
    if (!line || ends[number] < view.start || starts[number] > view.end) return;
    const a = Math.max(left, toX(starts[number]));
    const b = Math.min(width, Math.max(toX(ends[number]), a + 3));
    pen.strokeStyle = colour;
    pen.lineWidth = thick;
    pen.strokeRect(a, line.y - 0.5, Math.max(3, b - a - 0.6), line.tall + 1);
  };

  const shownBreaches = () =>
    data.breaches
      .map((breach, i) => ({ breach, now: i === current, a: Math.max(left, toX(breach.start)), b: Math.min(width, toX(breach.end)) }))
      .filter(({ breach }) => breach.end >= view.start && breach.start <= view.end);

  const band = () => { // below the spans
    pen.fillStyle = look.band;
    for (const { now, a, b } of shownBreaches()) if (now) pen.fillRect(a, HEAD, Math.max(2, b - a), height);
  };

  const edges = () => { // above them
    pen.fillStyle = look.broken;
    for (const { now, a, b } of shownBreaches()) {
      pen.fillRect(a, HEAD - 4, Math.max(3, b - a), 4);
      if (!now) continue;
      pen.fillRect(a, HEAD, 1, height);
      if (b - a > 2) pen.fillRect(b - 1, HEAD, 1, height);
    }
  };

  // A call of the breach that is too short for its name bears it beside.
  const calledOut = (number) => {
    const line = lineOf(number);
    const a = toX(starts[number]), b = Math.max(toX(ends[number]), a + 3);
    if (!line || b - a > 90 || b < left || a > width) return;
    const text = clip(`${words[spans.kinds[spans.kind[number]][0]]} ${words[spans.label[number]]}`, 320);
    pen.font = `600 ${FONT}`;
    const wide = pen.measureText(text).width;
    const x = b + 8 + wide < width ? b + 5 : Math.max(left + 2, a - 7 - wide);
    pen.fillStyle = look.paper;
    pen.fillRect(x - 2, line.y - 1, wide + 5, line.tall + 2);
    pen.fillStyle = look.broken;
    pen.fillText(text, x, line.y + line.tall / 2 + 0.5);
  };

  const flags = () => {
    pen.font = FONT;
    pen.textBaseline = "middle";
    let free = left;
    pen.setLineDash([4, 3]);
    for (const [t, name] of data.moments) {
      if (t < view.start || t > view.end) continue;
      const x = Math.round(toX(t)) + 0.5;
      pen.strokeStyle = look.fault;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, OVERVIEW + 16);
      pen.lineTo(x, height);
      pen.stroke();
      if (x < free) continue;
      const text = words[name].slice(0, 40);
      pen.fillStyle = look.paper;
      pen.fillRect(x + 2, OVERVIEW + 16, text.length * LETTER + 8, 14);
      pen.fillStyle = look.fault;
      pen.fillText(text, x + 5, OVERVIEW + 23);
      free = x + text.length * LETTER + 14;
    }
    pen.setLineDash([]);
  };

  const STEPS = [1, 2, 5];
  const axis = () => {
    pen.fillStyle = look.paper;
    pen.fillRect(0, OVERVIEW, width, AXIS);
    const goal = (view.end - view.start) / Math.max(2, (width - left) / 110);
    const power = 10 ** Math.floor(Math.log10(goal));
    const step = Math.max(1, (STEPS.find((each) => each * power >= goal) || 10) * power);
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / SECOND) + 1e-9)));
    pen.font = FONT;
    pen.textBaseline = "middle";
    for (let t = Math.ceil(view.start / step) * step; t <= view.end; t += step) {
      const x = Math.round(toX(t)) + 0.5;
      pen.fillStyle = look.rule;
      pen.fillRect(x, HEAD, 1, height);
      pen.fillStyle = look.faint;
      pen.fillText(seconds(t, digits), x + 3, OVERVIEW + 9);
    }
    let free = 0;
    for (const [t, name] of data.phases) {
      if (t < view.start || t > view.end) continue;
      const x = toX(t);
      pen.fillStyle = look.faint;
      pen.fillRect(x, OVERVIEW + 16, 1, x < free ? 3 : 13);
      if (x < free) continue;
      const text = words[name].slice(0, 40);
      pen.fillStyle = look.soft;
      pen.fillText(text, x + 4, OVERVIEW + 24);
      free = x + text.length * LETTER + 14;
    }
  };

  const clip = (text, room) => {
    const fits = Math.floor(room / LETTER);
    return text.length > fits ? `${text.slice(0, Math.max(1, fits - 1))}…` : text;
  };

  const names = () => {
    const hit = current >= 0 ? new Set(data.breaches[current].nodes.map((node) => words[node])) : new Set();
    pen.textBaseline = "middle";
    for (const item of items) {
      const y = onScreen(item);
      if (y + item.tall < HEAD || y > height) continue;
      if (item.group) {
        const blamed = hit.has(item.group.name);
        pen.fillStyle = look.hover;
        pen.fillRect(0, y, left, item.tall);
        pen.fillStyle = blamed ? look.broken : look.ink;
        pen.font = `600 ${FONT}`;
        const mark = item.group.closed ? "▸" : "▾";
        pen.fillText(clip(`${mark} ${item.group.name}`, left - 10), 6, y + item.tall / 2, left - 10);
        if (blamed) pen.fillRect(0, y, 3, item.tall);
        continue;
      }
      pen.font = FONT;
      pen.fillStyle = look.paper;
      pen.fillRect(0, y, left, item.tall);
      pen.fillStyle = look.soft;
      pen.fillText(clip(item.lane.name, left - 22), 18, y + Math.min(item.tall, ROW + GAP) / 2, left - 22);
    }
    pen.fillStyle = look.rule;
    pen.fillRect(left - 1, OVERVIEW, 1, height);
    if (items.length) return;
    pen.fillStyle = look.faint;
    pen.fillText("no call, task, claim or fault was recorded", left + 12, HEAD + 24);
  };

  // The strip above: the whole run, a line a group, and the window in it.
  let overview = null;
  const drawOverview = () => {
    const sharp = window.devicePixelRatio || 1;
    const strip = document.createElement("canvas");
    strip.width = Math.round(width * sharp);
    strip.height = Math.round(OVERVIEW * sharp);
    const own = strip.getContext("2d", { alpha: false });
    own.setTransform(sharp, 0, 0, sharp, 0, 0);
    own.fillStyle = look.stripe;
    own.fillRect(0, 0, width, OVERVIEW);
    const perTime = (width - left) / longest;
    const tall = Math.max(1, Math.min(6, (OVERVIEW - 10) / groups.length));
    groups.forEach((group, i) => {
      for (const lane of group.lanes)
        for (const track of lane.tracks)
          paint(own, track, 5 + i * tall, Math.max(1, tall - 1), left, perTime, 0, longest, colourOf);
    });
    labels = [];
    for (const [t] of data.moments) {
      own.fillStyle = look.fault;
      own.fillRect(left + t * perTime, 0, 1.5, OVERVIEW);
    }
    for (const breach of data.breaches) {
      own.fillStyle = look.broken;
      own.fillRect(left + breach.start * perTime, 0, Math.max(2, (breach.end - breach.start) * perTime), OVERVIEW);
    }
    own.fillStyle = look.paper;
    own.fillRect(0, 0, left, OVERVIEW);
    own.font = FONT;
    own.textBaseline = "middle";
    own.fillStyle = look.faint;
    own.fillText(clip(`all ${seconds(longest, 1)}`, left - 10), 6, OVERVIEW / 2);
    overview = strip;
  };

  const drawWindow = () => {
    if (!overview) drawOverview();
    pen.drawImage(overview, 0, 0, width, OVERVIEW);
    const perTime = (width - left) / longest;
    const a = left + view.start * perTime, b = left + view.end * perTime;
    pen.globalAlpha = 0.55;
    pen.fillStyle = look.paper;
    pen.fillRect(left, 0, a - left, OVERVIEW);
    pen.fillRect(b, 0, width - b, OVERVIEW);
    pen.globalAlpha = 1;
    pen.strokeStyle = look.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(a, 1, Math.max(3, b - a), OVERVIEW - 2);
    pen.fillStyle = look.rule;
    pen.fillRect(0, OVERVIEW - 1, width, 1);
  };

  let pinned = -1, hovered = -1, cursor = -1;
  const draw = () => {
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, height);
    axis();
    for (const item of items) {
      const y = onScreen(item);
      if (y + item.tall < HEAD || y > height) continue;
      pen.fillStyle = item.group ? look.hover : look.stripe;
      if (item.group) pen.fillRect(left, y, width - left, item.tall);
      pen.fillStyle = look.rule;
      pen.fillRect(0, y + item.tall - 1, width, 0.5);
    }
    pen.save();
    pen.beginPath();
    pen.rect(0, HEAD, width, height - HEAD);
    pen.clip();
    band();
    for (const item of items) {
      const y = onScreen(item);
      if (y + item.tall >= HEAD && y <= height) paintLane(item, y);
    }
    paintLabels();
    pen.restore();
    edges();
    pen.save();
    pen.beginPath();
    pen.rect(0, HEAD, width, height - HEAD);
    pen.clip();
    data.breaches.forEach((breach, i) => {
      if (i !== current) for (const number of breach.spans) outline(number, look.broken, 1);
    });
    if (current >= 0) for (const number of data.breaches[current].spans) outline(number, look.broken, 3);
    if (current >= 0) data.breaches[current].spans.forEach(calledOut);
    if (hovered >= 0) outline(hovered, look.ink, 1.5);
    if (pinned >= 0) outline(pinned, look.ink, 2.5);
    names();
    pen.restore();
    flags();
    if (cursor >= view.start && cursor <= view.end) {
      pen.fillStyle = look.accent;
      pen.fillRect(toX(cursor), HEAD, 1, height);
    }
    drawWindow();
    byId("window").textContent = `${seconds(view.start)} to ${seconds(view.end)} (${lasting(Math.round(view.end - view.start))})`;
  };

  // ---- What is under the pointer

  const NEAR = 3; // pixels
  const under = (x, y) => {
    if (y < HEAD || x < left) return -1;
    const item = items.find((each) => onScreen(each) <= y && y < onScreen(each) + each.tall);
    if (!item) return -1;
    const row = item.lane ? Math.floor((y - onScreen(item) - 1) / ROW) : -1;
    const tracks = item.lane ? item.tracks.slice(Math.max(0, row), row + 1) : item.tracks;
    const t = toTime(x), reach = t - toTime(x - NEAR);
    let best = -1, far = reach;
    for (const track of tracks) {
      for (let i = lower(track.latest, t - reach); i < track.start.length && track.start[i] <= t + reach; i++) {
        const off = Math.max(track.start[i] - t, t - track.end[i], 0);
        if (off < far || (off === 0 && best >= 0)) {
          best = track.number[i];
          far = off;
        }
      }
    }
    return best;
  };

  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  const told = (number) => {
    const list = element("dl");
    const say = (name, value, mark) => list.append(element("dt", name), element("dd", value, mark));
    say("when", `${seconds(starts[number])} to ${seconds(ends[number])}`);
    say("took", lasting(ends[number] - starts[number]));
    const outcome = words[spans.outcome[number]];
    if (outcome) say("came to", outcome, bad[number] ? "bad" : "");
    if (words[spans.more[number]]) say("with", words[spans.more[number]]);
    data.breaches.forEach((breach, i) => {
      if (breach.spans.includes(number)) say(`breach ${i + 1}`, words[breach.guarantee], "bad");
    });
    return [element("b", words[spans.told[number]]), list];
  };

  const tip = byId("tip");
  const hover = (number, x, y) => {
    if (number !== hovered) {
      hovered = number;
      tip.replaceChildren(...(number >= 0 ? told(number) : []));
      changed();
    }
    tip.hidden = number < 0;
    if (number < 0) return;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > window.innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
  };

  const pin = (number) => {
    pinned = number;
    const shown = byId("pinned");
    shown.hidden = number < 0;
    shown.replaceChildren(...(number >= 0 ? told(number) : []));
    if (number >= 0) followLog(starts[number]);
    changed();
  };

  // ---- Pointer, wheel and keys

  const pointers = new Map();
  let drag = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const toOverview = (x) => {
    const half = (view.end - view.start) / 2;
    const t = ((x - left) * longest) / (width - left);
    show(t - half, t + half);
  };

  canvas.addEventListener("wheel", (event) => {
    const [x] = at(event);
    if (x < left && !event.ctrlKey) return; // over the names it scrolls, as anywhere
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 300 : 1;
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY))
      pan((across * unit * (view.end - view.start)) / (width - left));
    else zoom(Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.002)), toTime(Math.max(left, x)));
  }, { passive: false });

  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = at(event);
    pointers.set(event.pointerId, [x, y]);
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    drag = { x, y, moved: false, strip: y < OVERVIEW && x >= left, scroll: stage.scrollTop };
    if (drag.strip) toOverview(x);
    hover(-1);
  });

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (!pointers.has(event.pointerId)) {
      hover(under(x, y), event.clientX, event.clientY);
      canvas.style.cursor = x < left ? "pointer" : "";
      return;
    }
    const [beforeX] = pointers.get(event.pointerId);
    if (pointers.size === 2) pinch(event.pointerId, x, y);
    else if (drag && drag.strip) toOverview(x);
    else if (drag) {
      if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.moved = true;
      if (drag.moved && drag.x >= left) {
        canvas.classList.add("dragging");
        pan(((beforeX - x) * (view.end - view.start)) / (width - left));
        if (event.pointerType === "mouse") stage.scrollTop = drag.scroll + drag.y - y;
      }
    }
    pointers.set(event.pointerId, [x, y]);
  });

  const pinch = (id, x, y) => {
    const [other] = [...pointers].filter(([each]) => each !== id).map(([, where]) => where);
    const [beforeX, beforeY] = pointers.get(id);
    const before = Math.hypot(beforeX - other[0], beforeY - other[1]);
    const now = Math.hypot(x - other[0], y - other[1]);
    if (drag) drag.moved = true;
    if (now > 5) zoom(before / now, toTime((x + other[0]) / 2));
  };

  const release = (event) => {
    const [x, y] = at(event);
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (!drag || pointers.size) return;
    const click = !drag.moved && !drag.strip && event.type === "pointerup";
    drag = null;
    if (click) clicked(x, y);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("dblclick", (event) => zoom(0.3, toTime(Math.max(left, at(event)[0]))));

  const clicked = (x, y) => {
    if (y < HEAD) return;
    const item = items.find((each) => onScreen(each) <= y && y < onScreen(each) + each.tall);
    if (item && item.group && x < left) {
      item.group.closed = !item.group.closed;
      arrange();
      changed();
      return;
    }
    const number = under(x, y);
    cursor = number >= 0 ? starts[number] : x >= left ? toTime(x) : cursor;
    pin(number);
    if (number < 0 && x >= left) followLog(cursor);
  };

  stage.addEventListener("scroll", changed);

  const keys = {
    ArrowLeft: () => pan((view.start - view.end) / 8),
    ArrowRight: () => pan((view.end - view.start) / 8),
    ArrowUp: () => { stage.scrollTop -= 3 * ROW; },
    ArrowDown: () => { stage.scrollTop += 3 * ROW; },
    "+": () => zoom(0.7, middle()),
    "=": () => zoom(0.7, middle()),
    "-": () => zoom(1 / 0.7, middle()),
    0: () => show(0, longest),
    n: () => toBreach(current + 1),
    p: () => toBreach(current - 1),
    Escape: () => pin(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, #log")) return;
    const upright = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (!keys[event.key] || (upright && event.target !== canvas)) return;
    event.preventDefault();
    keys[event.key]();
  });

  byId("whole").addEventListener("click", keys[0]);
  byId("in").addEventListener("click", keys["+"]);
  byId("out").addEventListener("click", keys["-"]);
  byId("next").addEventListener("click", keys.n);
  byId("previous").addEventListener("click", keys.p);
  if (!data.breaches.length) byId("next").hidden = byId("previous").hidden = true;

  byId("copy").addEventListener("click", async () => {
    const replay = byId("replay");
    let done = true;
    try {
      await navigator.clipboard.writeText(replay.textContent);
    } catch {
      getSelection().selectAllChildren(replay);
      done = document.execCommand("copy");
    }
    byId("copy").textContent = done ? "copied" : "press Ctrl-C";
  });

  // ---- Logs: only the lines that are seen exist

  const LINE = 18, AHEAD = 6;
  const log = byId("log"), lines = byId("lines");
  const { timed, apart } = data.log;
  const lower1 = (text) => text.toLowerCase();
  let chosen = { of: timed, rows: [] }, mark = -1;

  const sourceNames = (of) => [...new Set(of.source)].map((i) => [i, words[i]]).sort((a, b) => a[1].localeCompare(b[1]));
  const choices = byId("source");
  const option = (value, text) => {
    const made = element("option", text);
    made.value = value;
    return made;
  };
  choices.append(option("timed", `all logs (${timed.t.length})`));
  if (apart.t.length) choices.append(option("apart", `without times (${apart.t.length})`));
  for (const [kind, of] of [["timed", timed], ["apart", apart]]) {
    if (!of.t.length) continue;
    const grouped = document.createElement("optgroup");
    grouped.label = kind === "timed" ? "with times" : "without times";
    grouped.append(...sourceNames(of).map(([i, name]) => option(`${kind} ${i}`, name)));
    choices.append(grouped);
  }
  if (!timed.t.length && apart.t.length) choices.value = "apart";

  const choose = () => {
    const [kind, source] = choices.value.split(" ");
    const of = kind === "apart" ? apart : timed;
    const wanted = lower1(byId("filter").value);
    const badOnly = byId("level").value === "bad";
    const rows = [];
    for (let i = 0; i < of.t.length; i++) {
      if (source !== undefined && of.source[i] !== Number(source)) continue;
      if (badOnly && !["WARN", "ERROR"].includes(words[of.level[i]])) continue;
      if (wanted && !lower1(of.text[i]).includes(wanted) && !lower1(words[of.source[i]]).includes(wanted)) continue;
      rows.push(i);
    }
    chosen = { of, rows, times: Float64Array.from(rows, (i) => of.t[i]), timed: of === timed };
    lines.style.height = `${rows.length * LINE}px`;
    byId("count").textContent = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "line" : "lines"}`;
    mark = -1;
    if (chosen.timed) scrollLog(view.start, 0);
    else log.scrollTop = 0;
    drawLog();
  };

  const scrollLog = (t, share) => {
    log.scrollTop = lower(chosen.times, t) * LINE - log.clientHeight * share;
  };
  const followLog = (t) => {
    if (!chosen.timed || !byId("follow").checked) return;
    mark = lower(chosen.times, t);
    scrollLog(t, 0.35);
    held = performance.now();
    drawLog();
  };

  let held = 0, waiting = 0;
  const CALM = 90; // milliseconds between two looks at the log while the timeline moves
  const laterLog = () => {
    if (waiting) return;
    waiting = setTimeout(() => {
      waiting = 0;
      if (chosen.timed && byId("follow").checked && performance.now() - held > 400) {
        const middleOf = mark >= 0 && chosen.times[mark] >= view.start && chosen.times[mark] <= view.end;
        if (!middleOf) scrollLog(view.start, 0);
      }
      drawLog();
    }, CALM);
  };

  const lineAt = (place) => {
    const i = chosen.rows[place];
    const level = words[chosen.of.level[i]];
    const t = chosen.of.t[i];
    const away = chosen.timed && (t < view.start || t > view.end);
    const row = element("div", undefined, `line ${level.toLowerCase()}${away ? " apart" : ""}${place === mark ? " at" : ""}`);
    row.style.top = `${place * LINE}px`;
    row.append(
      element("span", chosen.timed ? (t / SECOND).toFixed(3) : "", "when"),
      element("span", words[chosen.of.source[i]], "who"),
      element("span", chosen.of.text[i], "said"),
    );
    row.title = `${words[chosen.of.source[i]]} ${level} ${chosen.of.text[i]}`;
    row.addEventListener("click", () => {
      mark = place;
      if (chosen.timed) {
        cursor = t;
        const half = (view.end - view.start) / 2;
        held = performance.now();
        if (away) show(t - half, t + half);
        else changed();
      }
      drawLog();
    });
    return row;
  };

  const drawLog = () => {
    const first = Math.max(0, Math.floor(log.scrollTop / LINE) - AHEAD);
    const last = Math.min(chosen.rows.length, Math.ceil((log.scrollTop + log.clientHeight) / LINE) + AHEAD);
    const shown = [];
    for (let place = first; place < last; place++) shown.push(lineAt(place));
    if (!shown.length) shown.push(element("p", "no such line", "note"));
    lines.replaceChildren(...shown);
  };
  let scrolling = false;
  log.addEventListener("scroll", () => {
    if (scrolling) return;
    scrolling = true;
    requestAnimationFrame(() => {
      scrolling = false;
      drawLog();
    });
  });
  for (const id of ["source", "level"]) byId(id).addEventListener("change", choose);
  byId("filter").addEventListener("input", choose);

  // ---- Legend

  const legend = () => {
    const shown = spans.kinds.map(([kind], i) => {
      const item = element("span");
      const patch = element("i");
      patch.style.background = look.kinds[i];
      item.append(patch, words[kind]);
      return item;
    });
    const sign = (text, side, colour) => {
      const item = element("span");
      const patch = element("i");
      patch.style[side] = `2px solid ${colour}`;
      item.append(patch, text);
      shown.push(item);
    };
    if (data.breaches.length) sign("call of a breach", "border", look.broken);
    if (spans.bad.length) sign("came to no good", "borderBottom", look.unknown);
    const how = element("span", "wheel or + − zooms, drag or arrows pan, 0 shows all, a click pins", "note");
    byId("legend").replaceChildren(...shown, how);
  };

  // ---- Begin

  const dress = () => {
    readLook();
    overview = null;
    legend();
    changed();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", dress);
  new ResizeObserver(() => {
    if (stage.clientWidth !== width) {
      measure();
      changed();
    }
  }).observe(stage);

  readLook();
  arrange();
  measure();
  legend();
  choose();
  if (data.breaches.length) toBreach(0);
  draw();
  drawLog();
  performance.mark("first drawing");
})();
