"use strict";
(() => {
  const { live } = JSON.parse(document.getElementById("data").textContent);
  const ask = async (what, query, signal) => {
    if (live.at) query.at = live.at;
    const reply = await fetch(what + "?" + new URLSearchParams(query), { signal });
    if (!reply.ok || reply.headers.get("Content-Type").startsWith("text/plain")) throw new Error(await reply.text());
    return reply;
  };

  // A form's question, its reply as a part of this page; a new question ends the one before.
  const answer = (form, what, query, said, put) => {
    let running = null;
    return async () => {
      if (running) running.abort();
      const own = running = new AbortController();
      said.classList.remove("failed");
      said.textContent = "asking …";
      try {
        const part = document.createElement("template");
        part.innerHTML = await (await ask(what, query(new FormData(form)), own.signal)).text();
        said.textContent = "";
        put(part.content);
      } catch (e) {
        if (e.name === "AbortError") return;
        said.classList.add("failed");
        said.textContent = e.message || "ovnctl ui does not answer";
      }
    };
  };
  const protocol = (form) => form.get("protocol") === "icmp" ? {} : { protocol: form.get("protocol") + "/" + form.get("port") };
  const withPort = (form) => {
    const { protocol, port } = form.elements;
    const set = () => { port.disabled = protocol.value === "icmp"; port.required = !port.disabled; };
    protocol.addEventListener("change", set);
    set();
  };

  const form = document.getElementById("ask"), answers = document.getElementById("answers");
  withPort(form);
  const trace = answer(form, "path", (f) => ({ from: f.get("from"), to: f.get("to"), ...protocol(f) }), document.getElementById("said"), (part) => {
    answers.prepend(part);
    answers.firstElementChild.focus();
  });
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    keep();
    trace();
  });
  addEventListener("ends", (e) => {
    form.elements.from.value = e.detail.from;
    form.elements.to.value = e.detail.to;
    form.requestSubmit();
  });

  const names = document.getElementById("names");
  let waiting = 0, word = null;
  form.addEventListener("input", (e) => {
    if (!e.target.list || e.target.value === word) return;
    word = e.target.value;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const asked = word;
      try {
        const found = await (await ask("names", { word: asked })).json();
        if (asked !== word) return;
        names.replaceChildren(...found.map((name) => { const o = document.createElement("option"); o.value = name; return o; }));
      } catch { names.replaceChildren(); }
    }, 120);
  });

  const reach = document.getElementById("ask-reach"), matrix = document.getElementById("matrix");
  withPort(reach);
  const who = answer(reach, "reach", protocol, document.getElementById("said-reach"), (part) => matrix.replaceChildren(part));
  reach.addEventListener("submit", (e) => { e.preventDefault(); who(); });

  // The question is in the address: it is asked again at another moment, and a link shows it.
  const keep = () => {
    const asked = new URLSearchParams(location.search);
    for (const key of ["from", "to", "protocol", "port"]) {
      const value = form.elements[key].value;
      if (value && !form.elements[key].disabled) asked.set(key, value); else asked.delete(key);
    }
    history.replaceState(null, "", "?" + asked + location.hash);
  };
  const asked = new URLSearchParams(location.search);
  if (asked.get("from") && asked.get("to")) {
    for (const key of ["from", "to", "protocol", "port"]) if (asked.has(key)) form.elements[key].value = asked.get(key);
    withPort(form);
    trace();
  }

  const at = (when) => {
    const query = new URLSearchParams(location.search);
    if (when) query.set("at", when); else query.delete("at");
    location.search = query;
  };
  const moment = document.getElementById("moment"), told = document.getElementById("told");
  if (moment) {
    const go = () => at(live.moments[moment.value].at);
    moment.addEventListener("input", () => { told.textContent = live.moments[moment.value].text; });
    moment.addEventListener("change", go);
    for (const [id, by] of [["earlier", -1], ["later", 1]]) {
      document.getElementById(id).addEventListener("click", () => { moment.value = Number(moment.value) + by; go(); });
    }
  }
  const again = document.getElementById("again");
  if (again) again.addEventListener("click", () => at(""));
})();
