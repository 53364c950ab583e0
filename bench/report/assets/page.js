
// draw fills every figure of the page from its scenario, and from the same one of a baseline.
function draw(scenarios, baseline) {
  const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const axis = more => ({ stroke: css("soft"), grid: { stroke: css("line") }, ticks: { stroke: css("line") }, ...more });
  const line = (label, color, more) => ({ label, stroke: css(color), width: 2, points: { show: false }, ...more });
  const ms = v => v == null ? "" : v >= 1000 ? v / 1000 + " s" : v < 1 ? +(v * 1000).toPrecision(3) + " µs" : +v.toPrecision(3) + " ms";

  // Percentiles are stretched so that each further nine takes as much room: 0 is 0, 90 is 1, 99 is 2,
  // 99.9 is 3. What is behind the last nine stands at 4.3.
  const tail = percent => Math.min(-Math.log10(Math.max(1 - percent / 100, 1e-5)), 4.3);
  const nines = [0, 50, 90, 99, 99.9, 99.99].map(p => [tail(p), "" + p]);
  const percent = v => nines.reduce((text, [at, label]) => Math.abs(at - v) < 1e-3 ? label : text, "");

  function latency(s) {
    const old = (baseline || []).find(b => b.name === s.name);
    const sides = [["node", "node", s.node], [s.comparison || "limit", "limit", s.limit], ["baseline", "base", old && old.node]]
      .filter(side => side[2]);
    const points = s.node.latency || [], at = (m, i) => m.latency && m.latency[i] ? Math.max(m.latency[i].micros, 1) / 1e3 : null;
    return {
      data: [points.map(p => tail(p.percent)), ...sides.map(side => points.map((_, i) => at(side[2], i)))],
      options: {
        scales: { x: { time: false }, y: { distr: 3 } },
        series: [{ label: "percentile", value: (u, v) => v == null ? "" : +(100 - Math.pow(10, 2 - v)).toFixed(3) + " %" },
          ...sides.map(([label, color]) => line(label, color, { value: (u, v) => ms(v) }))],
        axes: [axis({ splits: () => nines.map(n => n[0]), values: (u, all) => all.map(percent) }),
          axis({ size: 64, values: (u, all) => all.map(v => v == null ? "" : ms(v)) })],
      },
    };
  }

  function throughput(s) {
    // A line where a chain published.
    const marks = u => {
      u.ctx.strokeStyle = css("mark");
      for (const r of s.refreshes || []) {
        const x = u.valToPos(r.seconds, "x", true);
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
      }
    };
    return {
      data: [p => p.seconds, p => p.perSecond, p => p.slowestMicros / 1e3].map(column => (s.series || []).map(column)),
      options: {
        hooks: { draw: [marks] },
        scales: { x: { time: false }, y: { range: (u, low, high) => [0, high * 1.1 || 1] }, slow: { range: (u, low, high) => [0, high * 1.6 || 1] } },
        series: [{ label: "seconds" }, line("requests/s", "node"),
          line("slowest answer", "base", { scale: "slow", width: 1, value: (u, v) => ms(v) })],
        axes: [axis(), axis({ size: 64 })],
      },
    };
  }

  for (const figure of document.querySelectorAll("figure")) {
    const s = scenarios[figure.dataset.of], plot = figure.dataset.plot === "latency" ? latency(s) : throughput(s);
    if (!plot.data[0].length) continue;
    const title = figure.dataset.plot === "latency" ? "latency by percentile" : "throughput over time";
    new uPlot({ title, width: figure.clientWidth - 16, height: 260, ...plot.options }, plot.data, figure);
  }
}
