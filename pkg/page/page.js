"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent), data = page.topology || {};
  const kinds = { routers: "router", switches: "switch", ports: "port", chassis: "chassis", nodes: "node", bridges: "bridge",
    tunnels: "tunnel", loadBalancers: "load balancer", loadBalancerGroups: "load balancer group", nat: "NAT", policies: "policy", portGroups: "port group" };
  const objects = new Map(), named = new Map(), referring = new Map();
  const label = (row) => row.pod || row.displayName || row.hostname || row.service || row.name || row.uuid;
  const call = (name, id) => {
    if (!name) return;
    if (!named.has(name)) named.set(name, new Set());
    named.get(name).add(id);
  };

  for (const [list, kind] of Object.entries(kinds)) {
    for (const row of data[list] || []) {
      if (row.uuid) objects.set(row.uuid, { kind, row, text: JSON.stringify(row).toLowerCase() });
    }
  }
  for (const kind of ["port", "chassis", "node", "bridge", "switch", "router"]) {
    for (const [id, o] of objects) if (o.kind === kind) { call(o.row.name, id); call(o.row.hostname, id); }
  }
  // Parts of objects: whoever points at an uplink means its bridge.
  const part = new Map();
  for (const [id, o] of objects) {
    if (o.kind === "bridge") for (const p of o.row.ports || []) if (p.uuid) part.set(p.uuid, id);
  }

  const strings = (value, see) => {
    if (typeof value === "string") see(value);
    else if (value && typeof value === "object") for (const v of Object.values(value)) strings(v, see);
  };
  // A name means what has it, of several the one on the same node or in the same zone as the row that mentions it.
  const target = (text, row) => {
    if (objects.has(text)) return text;
    const all = [...(named.get(text) || [])];
    for (const near of [() => true, (o) => o.node && o.node === row.node, (o) => o.zone && o.zone === row.zone]) {
      const some = all.filter((id) => near(objects.get(id).row));
      if (some.length === 1) return some[0];
    }
    return undefined;
  };
  const mentions = (id) => {
    const found = new Set();
    const { externalIds, otherConfig, options, name, ...row } = objects.get(id).row;
    strings(row, (text) => { const t = target(text, row); if (t && t !== id) found.add(t); });
    return found;
  };
  for (const id of objects.keys()) {
    for (const t of mentions(id)) {
      if (!referring.has(t)) referring.set(t, new Set());
      referring.get(t).add(id);
    }
  }

  const make = (tag, text, ...children) => {
    const e = document.createElement(tag);
    if (text) e.textContent = text;
    e.append(...children);
    return e;
  };
  const title = (id) => { const o = objects.get(id); return o.kind + " " + label(o.row); };
  const chooser = (id, text) => {
    const b = make("button", text || title(id));
    b.type = "button";
    b.addEventListener("click", () => show(id));
    return b;
  };

  // Two ends are chosen, and the path between them is shown: in a file if it is there, else by whoever listens for "ends".
  const ends = {}, bar = document.createElement("div");
  bar.id = "ends";
  bar.setAttribute("role", "status");
  const called = (id) => { const { row } = objects.get(id); return row.pod || "lsp:" + row.name; };
  const isEnd = (id) => { const o = objects.get(id); return o.kind === "port" && (o.row.pod || o.row.kind === "switch" && (o.row.addresses || []).length > 0); };
  const choose = (end, id) => {
    ends[end] = id;
    for (const g of document.querySelectorAll("[data-object]")) g.classList.toggle("chosen", Object.values(ends).includes(g.dataset.object));
    const forget = make("button", "forget");
    forget.type = "button";
    forget.addEventListener("click", () => {
      bar.remove();
      for (const key of Object.keys(ends)) delete ends[key];
      for (const g of document.querySelectorAll(".chosen")) g.classList.remove("chosen");
    });
    bar.replaceChildren("from " + (ends.from ? called(ends.from) : "…") + " to " + (ends.to ? called(ends.to) : "…") + "  ", forget);
    document.body.append(bar);
    if (!ends.from || !ends.to) return;
    hide();
    if (page.live) {
      dispatchEvent(new CustomEvent("ends", { detail: { from: called(ends.from), to: called(ends.to) } }));
      return;
    }
    const there = [...document.querySelectorAll("article.path")].filter((a) => a.dataset.from === objects.get(ends.from).row.name && a.dataset.to === objects.get(ends.to).row.name);
    if (there.length) {
      there[0].focus();
      there[0].scrollIntoView();
    } else {
      bar.append(" is not in this file: ", make("code", [page.trace, called(ends.from), called(ends.to)].join(" ")));
    }
  };

  const panel = document.getElementById("object");
  let opener = null;
  const hide = () => {
    panel.hidden = true;
    history.replaceState(null, "", location.href.split("#")[0]); // no longer a link to it
  };
  const close = () => { hide(); if (opener) opener.focus(); };
  const put = (into, row, key, value) => {
    if (Array.isArray(value) ? value.length > 0 : value && typeof value === "object") {
      if (Array.isArray(value) && value.every((v) => typeof v !== "object")) {
        const dd = make("dd");
        value.slice(0, 60).forEach((v, i) => { if (i) dd.append(", "); dd.append(linked(v, row)); });
        if (value.length > 60) dd.append(" and " + (value.length - 60) + " more");
        into.append(make("dt", key), dd);
        return;
      }
      const entries = Object.entries(value);
      for (const [k, v] of entries.slice(0, 60)) put(into, row, Array.isArray(value) ? key + " " + (Number(k) + 1) : key + ":" + k, v);
      if (entries.length > 60) into.append(make("dt", key), make("dd", "and " + (entries.length - 60) + " more"));
      return;
    }
    into.append(make("dt", key), make("dd", "", linked(value, row)));
  };
  const linked = (value, row) => {
    const id = typeof value === "string" && target(value, row);
    return id ? chooser(id, value) : document.createTextNode(String(value));
  };
  const show = (id) => {
    const o = objects.get(id);
    if (!o) return;
    if (panel.hidden) opener = document.activeElement;
    panel.replaceChildren();
    const shut = make("button", "Close");
    shut.type = "button";
    shut.className = "close";
    shut.addEventListener("click", close);
    panel.append(shut, make("h2", title(id)));
    if (page.trace && isEnd(id)) {
      for (const end of ["from", "to"]) {
        const b = make("button", "trace " + end + " here");
        b.type = "button";
        b.className = "end";
        b.addEventListener("click", () => choose(end, id));
        panel.append(b, " ");
      }
    }
    const near = new Set([...mentions(id), ...(referring.get(id) || [])]);
    if (near.size) {
      panel.append(make("h3", "Neighbours"));
      for (const n of [...near].slice(0, 40)) panel.append(make("div", "", chooser(n)));
      if (near.size > 40) panel.append(make("p", "and " + (near.size - 40) + " more"));
    }
    panel.append(make("h3", "Row"));
    const list = make("dl");
    for (const [key, value] of Object.entries(o.row)) put(list, o.row, key, value);
    panel.append(list);
    panel.hidden = false;
    panel.scrollTop = 0;
    shut.focus();
    history.replaceState(null, "", "#object=" + encodeURIComponent(id)); // a link to it
  };

  for (const g of document.querySelectorAll("[data-object]")) {
    const id = part.get(g.dataset.object) || g.dataset.object;
    if (!objects.has(id)) continue;
    g.closest("svg").setAttribute("role", "group"); // no longer an image: it has buttons
    g.setAttribute("tabindex", "0");
    g.setAttribute("role", "button");
    g.setAttribute("aria-label", title(id));
    g.addEventListener("click", () => show(id));
    g.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); show(id); } });
  }

  const input = document.getElementById("search"), hits = document.getElementById("hits");
  if (input) input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits.replaceChildren();
    hits.hidden = words.length === 0;
    if (hits.hidden) return;
    const found = [];
    for (const [id, o] of objects) {
      if (!words.every((w) => o.text.includes(w))) continue;
      const called = label(o.row).toLowerCase();
      found.push([words.every((w) => called.includes(w)) ? 0 : 1, id]);
    }
    found.sort((a, b) => a[0] - b[0]);
    for (const [, id] of found.slice(0, 50)) hits.append(make("li", "", chooser(id)));
    if (found.length !== 1) hits.append(make("li", found.length ? found.length + " objects" : "nothing is called so"));
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") { if (!panel.hidden) close(); else if (hits) hits.hidden = true; }
    if (e.key === "/" && input && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); input.focus(); }
  });
  if (hits) hits.addEventListener("click", () => { hits.hidden = true; });

  const slide = document.getElementById("slide"), states = document.querySelector(".states");
  if (slide) {
    const uncover = () => states.style.setProperty("--divide", 100 - slide.value + "%");
    slide.addEventListener("input", uncover);
    uncover();
  }

  const linkedTo = () => { if (location.hash.startsWith("#object=")) show(decodeURIComponent(location.hash.slice(8))); };
  addEventListener("hashchange", linkedTo);
  linkedTo();
})();
