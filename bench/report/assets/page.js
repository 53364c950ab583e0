
// draw fills every figure of the page from the columns of its scenario.
function draw(scenarios) {
  const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const axis = more => ({ stroke: css("soft"), grid: { stroke: css("line") }, ticks: { stroke: css("line") }, ...more });
  const line = (label, color, more) => ({ label, stroke: css(color), width: 2, points: { show: false }, ...more });
  const ms = v => v == null ? "" : v >= 1000 ? v / 1000 + " s" : v < 1 ? +(v * 1000).toPrecision(3) + " µs" : +v.toPrecision(3) + " ms";

  // The marks of percentiles, where tail() of the report puts them.
  const nines = [[0, "0"], [0.30103, "50"], [1, "90"], [2, "99"], [3, "99.9"], [4, "99.99"]];
  const percent = v => nines.reduce((text, [at, label]) => Math.abs(at - v) < 1e-3 ? label : text, "");

  function latency(s) {
    const colors = ["node", "limit", "base"], keep = [0, 1, 2].filter(i => s.Words[i]);
    return {
      data: [s.Latency[0], ...keep.map(i => s.Latency[i + 1])],
      options: {
        scales: { x: { time: false }, y: { distr: 3 } },
        series: [{ label: "percentile", value: (u, v) => v == null ? "" : +(100 - Math.pow(10, 2 - v)).toFixed(3) + " %" },
          ...keep.map(i => line(s.Words[i], colors[i], { value: (u, v) => ms(v) }))],
        axes: [axis({ splits: () => nines.map(n => n[0]), values: (u, all) => all.map(percent) }),
          axis({ size: 64, values: (u, all) => all.map(v => v == null ? "" : ms(v)) })],
      },
    };
  }

  function throughput(s) {
    // A line where a chain published.
    const marks = u => {
      u.ctx.strokeStyle = css("mark");
      for (const r of s.Refreshes || []) {
        const x = u.valToPos(r.seconds, "x", true);
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
      }
    };
    return {
      data: s.Throughput,
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
    if (!plot.data[0]) continue;
    const title = figure.dataset.plot === "latency" ? "latency by percentile" : "throughput over time";
    new uPlot({ title, width: figure.clientWidth - 16, height: 260, ...plot.options }, plot.data, figure);
  }
}
