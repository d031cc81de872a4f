// The timeline of a profile: zoom, a window by drag or by numbers, a step. Replaces its picture.

(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 1000;
  const HEIGHT = 24;
  const SERIES = ["baseline", "candidate", "series-2", "series-3", "series-4"];

  function element(name, attributes, parent) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  }

  function milliseconds(value) {
    return String(Number(value.toPrecision(5)));
  }

  // The busy milliseconds of a lane between two moments.
  function busyIn(busy, bucket, from, to) {
    let sum = 0;
    for (let at = Math.floor(from / bucket); at < Math.min(Math.ceil(to / bucket), busy.length); at++) {
      sum += busy[at] * Math.max(0, Math.min(to, (at + 1) * bucket) - Math.max(from, at * bucket));
    }
    return sum;
  }

  // Round places for about six marks.
  function marks(from, to) {
    const rough = (to - from) / 6;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
    return found;
  }

  function perCall(ms) {
    return ms >= 1 ? `${ms.toFixed(2)} ms` : `${(1000 * ms).toFixed(1)} µs`;
  }

  // The list of kernels for a window: figures by bucket, the longest first. The whole window has
  // the server's figures, and its order.
  function kernelList(lanes, bucket, busyOfGpu) {
    const list = document.querySelector("[data-kernels]");
    if (!list) return () => {};
    const note = list.querySelector("[data-kernels-window]");
    const bodies = [...list.querySelectorAll("tbody")];
    const shown = bodies[0].children.length;
    const rows = [...list.querySelectorAll("[data-kernel]")];
    const originals = rows.map((row) => [...row.cells].map((cell) => cell.textContent));

    function fill(row, cells) {
      cells.forEach((text, at) => {
        const cell = row.cells[row.cells.length - cells.length + at];
        (cell.querySelector("strong") ?? cell).textContent = text;
      });
    }

    function place(ordered) {
      ordered.forEach((row, at) => bodies[Math.min(at < shown ? 0 : 1, bodies.length - 1)].append(row));
    }

    function timeOf(lane, from, to) {
      let [ms, calls] = [0, 0];
      lane.buckets.forEach((at, entry) => {
        const inside = Math.max(0, Math.min(to, (at + 1) * bucket) - Math.max(from, at * bucket));
        ms += lane.busy[entry] * inside;
        if (inside > bucket / 2) calls += lane.calls[entry];
      });
      return { ms, calls };
    }

    return (from, to, isWhole) => {
      rows.forEach((row, at) => {
        row.hidden = !isWhole && at >= lanes.length;
        if (isWhole) fill(row, originals[at].slice(2));
      });
      note.hidden = isWhole;
      if (isWhole) {
        place(rows);
        return;
      }
      const busy = busyOfGpu(from, to);
      const inside = lanes
        .map((lane, at) => ({ row: rows[at], ...timeOf(lane, from, to) }))
        .filter((each) => each.row)
        .sort((a, b) => b.ms - a.ms);
      for (const { row, ms, calls } of inside) {
        row.hidden = !(ms > 0);
        const shares = [busy ? ms / busy : 0, ms / (to - from)].map((share) => `${(100 * share).toFixed(1)}%`);
        fill(row, [String(calls), calls ? perCall(ms / calls) : "–", `${ms.toFixed(3)} ms`, ...shares]);
      }
      place(inside.map(({ row }) => row));
      const left = rows.length > lanes.length ? ` Of the ${lanes.length} longest kernels.` : "";
      note.textContent = `Kernels from ${milliseconds(from)} to ${milliseconds(to)} ms, to ${milliseconds(1000 * bucket)} µs.${left}`;
    };
  }

  function mount(box) {
    if (box.dataset.mounted) return;
    box.dataset.mounted = "yes";
    const { bucket_ms: bucket, lanes, kernels, steps } = JSON.parse(box.querySelector("#timeline-data").textContent);
    const whole = bucket * lanes[0].busy.length;
    const find = (name) => box.querySelector(`[data-${name}]`);
    const [stepField, fromField, toField, area] = ["step", "from", "to", "lanes"].map(find);
    let window_ = [0, whole];
    const listKernels = kernelList(kernels, bucket, (from, to) => busyIn(lanes[0].busy, bucket, from, to));

    const rows = lanes.map((lane, row) => {
      const label = document.createElement("span");
      label.className = "timeline__name";
      label.textContent = label.title = lane.name;
      area.append(label);
      const frame = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
      const drawing = element("svg", frame, area);
      const colour = row ? SERIES[1 + ((row - 1) % 4)] : SERIES[0];
      const path = element("path", { fill: `var(--chart-${colour})` }, drawing);
      const share = document.createElement("span");
      share.className = "timeline__share";
      area.append(share);
      return { ...lane, path, share };
    });
    const ruler = document.createElement("div");
    ruler.className = "timeline__ruler";
    ruler.setAttribute("aria-hidden", "true");
    const selection = document.createElement("div");
    selection.className = "timeline__selection";
    selection.hidden = true;
    area.append(ruler, selection);

    function draw() {
      const [from, to] = window_;
      const x = (ms) => (((ms - from) / (to - from)) * WIDTH).toFixed(2);
      const first = Math.max(Math.floor(from / bucket), 0);
      const last = Math.min(Math.ceil(to / bucket), lanes[0].busy.length);
      for (const row of rows) {
        let shape = `M${x(first * bucket)} ${HEIGHT}`;
        for (let at = first; at < last; at++) {
          const top = (HEIGHT * (1 - Math.min(row.busy[at], 1))).toFixed(1);
          shape += `V${top}H${x((at + 1) * bucket)}`;
        }
        row.path.setAttribute("d", `${shape}V${HEIGHT}Z`);
        row.share.textContent = `${((100 * busyIn(row.busy, bucket, from, to)) / (to - from)).toFixed(1)}%`;
      }
      ruler.replaceChildren(
        ...marks(from, to).map((at) => {
          const mark = document.createElement("span");
          mark.textContent = `${milliseconds(at)}`;
          mark.style.left = `${x(at) / 10}%`;
          return mark;
        }),
      );
      listKernels(from, to, from === 0 && to === whole);
      fromField.value = milliseconds(from);
      toField.value = milliseconds(to);
      if (stepField) {
        const chosen = steps.findIndex((step) => step.from === from && step.to === to);
        stepField.value = chosen < 0 ? "" : String(chosen);
      }
      find("announcement").textContent = `${milliseconds(from)} to ${milliseconds(to)} ms: GPU busy ${rows[0].share.textContent}`;
    }

    function show(from, to) {
      const length = Math.min(Math.max(to - from, 4 * bucket), whole);
      const start = Math.min(Math.max(from, 0), whole - length);
      window_ = [start, start + length];
      draw();
    }

    function zoom(factor, at = (window_[0] + window_[1]) / 2) {
      show(at - (at - window_[0]) * factor, at + (window_[1] - at) * factor);
    }

    const showAll = () => show(0, whole);
    // The moment under the pointer.
    function moment(event) {
      const place = ruler.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - place.left) / place.width, 0), 1);
      return window_[0] + share * (window_[1] - window_[0]);
    }

    let start = null;
    area.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      start = moment(event);
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointermove", (event) => {
      if (start === null) return;
      const ends = [start, moment(event)].sort((a, b) => a - b);
      const [left, right] = ends.map((at) => (at - window_[0]) / (window_[1] - window_[0]));
      selection.hidden = false;
      selection.style.left = `${ruler.offsetLeft + left * ruler.offsetWidth}px`;
      selection.style.width = `${(right - left) * ruler.offsetWidth}px`;
    });
    area.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const ends = [start, moment(event)].sort((a, b) => a - b);
      start = null;
      if (!selection.hidden && ends[1] > ends[0]) show(...ends);
      selection.hidden = true;
    });
    area.addEventListener("pointercancel", () => {
      start = null;
      selection.hidden = true;
    });
    area.addEventListener("keydown", (event) => {
      const tenth = (window_[1] - window_[0]) / 10;
      const act = {
        ArrowLeft: () => show(window_[0] - tenth, window_[1] - tenth),
        ArrowRight: () => show(window_[0] + tenth, window_[1] + tenth),
        "+": () => zoom(0.5),
        "-": () => zoom(2),
        Escape: showAll,
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    stepField?.addEventListener("change", () => {
      const step = steps[Number(stepField.value)];
      if (stepField.value === "" || !step) showAll();
      else window_ = [step.from, step.to], draw();
    });
    for (const field of [fromField, toField])
      field.addEventListener("change", () => {
        const [from, to] = [fromField.valueAsNumber, toField.valueAsNumber];
        if (to > from) show(from, to);
        else draw();
      });
    box.querySelectorAll("[data-zoom]").forEach((button) =>
      button.addEventListener("click", () => zoom(Number(button.dataset.zoom))),
    );
    find("whole").addEventListener("click", showAll);

    box.querySelector("figure").hidden = true;
    find("drawing").hidden = false;
    showAll();
  }

  const mountAll = () => document.querySelectorAll("[data-timeline]").forEach(mount);
  document.addEventListener("htmx:afterSettle", mountAll);
  mountAll();
})();
