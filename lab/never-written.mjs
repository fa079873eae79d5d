import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);

// src/worlds/luck.ts
function draws(seed) {
  let state = mix(seed ^ 1540483477);
  const next = () => {
    state = state + 1831565813 | 0;
    let x = Math.imul(state ^ state >>> 15, 1 | state);
    x = x + Math.imul(x ^ x >>> 7, 61 | x) ^ x;
    return ((x ^ x >>> 14) >>> 0) / 2 ** 32;
  };
  const between = (low, high) => low + (high - low) * next();
  const log = (low, high) => low * (high / low) ** next();
  return {
    next,
    between,
    log,
    integer: (low, high) => Math.floor(between(low, high + 1)),
    logInteger: (low, high) => Math.min(high, Math.max(low, Math.round(log(low, high)))),
    chance: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)],
    exponential: (mean) => -mean * Math.log(1 - next())
  };
}
function luck(seed, request, purpose) {
  const h = mix(mix(seed ^ Math.imul(purpose + 1, 2654435761)) ^ Math.imul(request + 1, 2246822519));
  return (h >>> 0) / 2 ** 32;
}
function mix(x) {
  let h = x | 0;
  h = Math.imul(h ^ h >>> 16, 2246822507);
  h = Math.imul(h ^ h >>> 13, 3266489909);
  return h ^ h >>> 16;
}

// src/worlds/population.ts
function newRun(world, windows) {
  const known = newCourse(windows);
  const strangers = newCourse(windows);
  const flows = [];
  const askers = world.crowds.map((crowd, index) => {
    const { stranger, weights, clients, zipf } = crowd;
    const members = Array.from({ length: crowd.flows }, (_, i) => {
      const flow = {
        index: flows.length,
        row: flows.length * windows,
        name: `${crowd.name}-${i}`,
        crowd: index,
        weight: weights?.[i % weights.length] ?? 1,
        isKnown: !stranger,
        course: stranger ? strangers : known
      };
      flows.push(flow);
      return flow;
    });
    const seed = mix(world.seed * 31 + index + 1);
    const place = zipf === void 0 ? (share) => Math.floor(share * crowd.flows) : byZipf(crowd.flows, zipf);
    const flowBy = (share) => members[place(share)];
    const thinkSeconds = clients ? crowd.flows * clients / crowd.perSecond : 0;
    return { crowd, seed, draw: draws(seed), members, flowBy, thinkSeconds, next: 0, step: 1 };
  });
  const cells = flows.length * windows;
  const [asked, served, requests] = [new Float64Array(cells), new Float64Array(cells), new Float64Array(flows.length)];
  return { windows, flows, askers, known, strangers, asked, served, requests, admitted: 0, failed: 0 };
}
function newCourse(windows) {
  const column = () => new Float64Array(windows);
  return { asked: column(), doomed: column(), served: column(), refused: column(), failed: column() };
}
function byZipf(count, exponent) {
  const upTo = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) upTo[i] = sum += (i + 1) ** -exponent;
  return (share) => {
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = low + high >> 1;
      if (upTo[middle] > share * sum) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
function planArrivals(askers, agenda, request) {
  const { crowd, draw, members, flowBy, thinkSeconds } = askers;
  const { clients, flows, perSecond, bursts } = crowd;
  const [from, to] = crowd.between;
  if (clients) {
    const step = flows * clients;
    for (let next = 0; next < step; next++) {
      const client = { next, step };
      agenda.plan(from + draw.exponential(thinkSeconds), () => request(members[next % flows], client));
    }
    return;
  }
  if (!(perSecond > 0)) return;
  const arrive = (at) => {
    const next = at + draw.exponential(1 / perSecond);
    if (next < to) agenda.plan(next, arrive);
    const flow = flowBy(draw.next());
    draw.next();
    if (!bursts || at % (bursts.on + bursts.off) < bursts.on) request(flow, askers);
  };
  agenda.plan(from + draw.exponential(1 / perSecond), arrive);
}
function balancerOf({ seed, processes, balancer, crowds }) {
  if (processes === 1) return () => 0;
  const byLuck = (share) => Math.floor(share * processes);
  switch (balancer) {
    case "sticky":
      return ({ index }) => byLuck(luck(seed, index, 1));
    case "connections":
      return ({ index, crowd }, id) => byLuck(luck(seed, index, Math.floor(id / (50 * crowds[crowd].flows))));
    case "skewed":
      return (_flow, _id, share) => byLuck(share * share);
    case "random":
      return (_flow, _id, share) => byLuck(share);
  }
}
function costBy({ shape, most }, share) {
  return (1 - share * (1 - most ** -shape)) ** (-1 / shape);
}
var Agenda = class {
  #heap = [];
  #planned = 0;
  plan(at, run) {
    const heap = this.#heap;
    const item = { at, order: this.#planned++, run };
    let i = heap.length;
    heap.push(item);
    while (i > 0) {
      const parent = i - 1 >> 1;
      if (!isBefore(item, heap[parent])) break;
      heap[i] = heap[parent];
      i = parent;
    }
    heap[i] = item;
  }
  /** Takes out the first item. */
  next() {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === void 0 || heap.length === 0) return first;
    let i = 0;
    for (; ; ) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = last;
    return first;
  }
};
function isBefore(a, b) {
  return a.at < b.at || a.at === b.at && a.order < b.order;
}
function capacityBetween(resource, from, to) {
  let sum = 0;
  let at = from;
  for (const change of resource.changes) {
    if (change.at <= at) continue;
    if (change.at >= to) break;
    sum += (change.at - at) * capacityAt(resource, at);
    at = change.at;
  }
  return sum + (to - at) * capacityAt(resource, at);
}
function capacityAt(resource, at) {
  const times = timesAt(resource, at);
  return resource.kind === "pool" ? workersOf(resource, times) / resource.meanSeconds : resource.perSecond * times;
}
function timesAt({ changes }, at) {
  return changes.findLast((change) => at >= change.at)?.times ?? 1;
}
function workersOf({ workers }, times) {
  return times === 0 ? 0 : Math.max(1, Math.round(workers * times));
}
function resourceOf(resource, agenda) {
  if (resource.kind === "pool") return poolOf(resource, agenda);
  let level = resource.burst;
  let at = 0;
  return (now, cost, _share, done) => {
    level = Math.min(resource.burst, level + capacityBetween(resource, at, now));
    at = now;
    const served = level >= cost;
    if (served) level -= cost;
    done(served);
  };
}
function poolOf(resource, agenda) {
  const { meanSeconds, line: places, patience, changes } = resource;
  const line = [];
  let busy = 0;
  const isFree = (now) => busy < workersOf(resource, timesAt(resource, now));
  const start = (now, seconds, done) => {
    busy++;
    agenda.plan(now + seconds, (at) => {
      busy--;
      done(true);
      serve(at);
    });
  };
  const serve = (now) => {
    while (line.length > 0 && isFree(now)) {
      const { seconds, done } = line.shift();
      start(now, seconds, done);
    }
  };
  for (const { at } of changes) agenda.plan(at, serve);
  return (now, cost, share, done) => {
    const seconds = -Math.log(1 - share) * meanSeconds * cost;
    if (isFree(now)) return start(now, seconds, done);
    if (line.length >= places) return done(false);
    const job = { seconds, done };
    line.push(job);
    agenda.plan(now + patience, () => {
      const place = line.indexOf(job);
      if (place < 0) return;
      line.splice(place, 1);
      done(false);
    });
  };
}

// src/worlds/engine.ts
var WINDOW = 10;
var COST = 1;
var DOOM = 2;
var SERVICE = 3;
var UNRELATED = 4;
var BALANCER = 5;
var LATE = 6;
var LOST = 7;
var REPORT = 8;
var PAUSE = 9;
var THINK = 10;
var ATTEMPT = 16;
var LEAST_PAUSE = 0.05;
var AFTER_FAILURE = 1;
var Process = class {
  /** How far its clock is ahead of time, in seconds. */
  ahead = 0;
  controller;
  #clock;
  #make;
  #life = 0;
  constructor(now, make) {
    this.#clock = () => 1e3 * (now() + this.ahead);
    this.#make = make;
    this.controller = make(0, this.#clock);
  }
  restart() {
    this.controller = this.#make(++this.#life, this.#clock);
  }
};
function simulate(world, rule, observe) {
  return new Simulation(world, rule).run(observe);
}
var Simulation = class {
  #world;
  #agenda = new Agenda();
  #run;
  #take;
  #processes;
  #placeOf;
  #weights = /* @__PURE__ */ new Map();
  #now = 0;
  constructor(world, rule) {
    this.#world = world;
    this.#run = newRun(world, Math.ceil(world.seconds / WINDOW));
    this.#take = resourceOf(world.resource, this.#agenda);
    const { seed, processes } = world;
    const weightOf = (flow) => this.#weights.get(flow) ?? 1;
    this.#processes = Array.from(
      { length: processes },
      (_, index) => new Process(
        () => this.#now,
        (life, clock) => rule(mix(mix(seed) + 16 * life + index) >>> 0, clock, weightOf)
      )
    );
    this.#placeOf = balancerOf(world);
  }
  run(observe) {
    const agenda = this.#agenda;
    const { askers, windows } = this.#run;
    const { seconds, jumps, restarts } = this.#world;
    const processes = this.#processes;
    const processAt = (index) => processes[index % processes.length];
    for (const { at, process, by } of jumps)
      agenda.plan(at, () => {
        processAt(process).ahead += by;
      });
    for (const { at, process } of restarts) agenda.plan(at, () => processAt(process).restart());
    for (const each of askers) planArrivals(each, agenda, (flow, client) => this.#request(each, flow, client));
    if (observe) {
      const controllers = () => processes.map(({ controller }) => controller);
      for (let w = 0; w < windows; w++) agenda.plan((w + 1) * WINDOW, () => observe(w, controllers()));
    }
    for (let item = agenda.next(); item && item.at <= seconds; item = agenda.next()) {
      this.#now = item.at;
      item.run(item.at);
    }
    return this.#run;
  }
  #request(askers, flow, client) {
    const { crowd, seed } = askers;
    if (this.#now >= crowd.between[1]) return;
    const id = client.next;
    client.next += client.step;
    const { costs } = this.#world;
    const cost = costs ? costBy(costs, luck(seed, id, COST)) : 1;
    const doomed = luck(seed, id, DOOM) < (crowd.fails ?? 0);
    const asking = { askers, flow, client, id, cost, doomed, tries: 0 };
    if (this.#failsAnyway(asking)) this.#write(flow, "doomed", cost);
    else {
      this.#write(flow, "asked", cost);
      this.#run.asked[flow.row + this.#window] += cost;
      this.#run.requests[flow.index]++;
    }
    this.#attempt(asking);
  }
  #attempt(asking) {
    const { askers, flow, cost, id } = asking;
    const { renamedAfter } = askers.crowd;
    const { costs, resource } = this.#world;
    const { controller } = this.#processes[this.#placeOf(flow, id, luckOf(asking, BALANCER))];
    const name = renamedAfter ? `${flow.name}.${Math.floor(id / renamedAfter)}` : flow.name;
    if (flow.weight !== 1) this.#weights.set(name, flow.weight);
    const report = controller.admit(name, costs?.known === false ? 1 : cost);
    if (typeof report === "number") {
      if (asking.tries === 0) this.#write(flow, "refused", cost);
      this.#goOn(asking, report / 1e3);
      return;
    }
    this.#run.admitted++;
    const end = (served, isShort) => this.#after(resource.late * luckOf(asking, LATE), () => this.#end(asking, served, isShort, report));
    if (this.#failsAnyway(asking)) end(false, false);
    else this.#take(this.#now, cost, luckOf(asking, SERVICE), (served) => end(served, !served));
  }
  /** The client has its answer at once, the rule hears of it later, or never. */
  #end(asking, served, isShort, report) {
    const { askers, flow, client, cost } = asking;
    const { lost, late } = this.#world.reports;
    if (lost === 0 || luckOf(asking, LOST) >= lost)
      this.#after(late * luckOf(asking, REPORT), () => report(served ? "success" : "failure", cost));
    if (isShort) {
      this.#run.failed++;
      this.#write(flow, "failed", cost);
    }
    if (!served) {
      this.#goOn(asking, AFTER_FAILURE);
      return;
    }
    this.#write(flow, "served", cost);
    this.#run.served[flow.row + this.#window] += cost;
    if (askers.crowd.clients) this.#after(thinkTime(asking), () => this.#request(askers, flow, client));
  }
  /** What a client does after a refusal or a failure. */
  #goOn(asking, afterSeconds) {
    const { askers, flow, client, tries } = asking;
    const { retry, clients } = askers.crowd;
    if (retry && tries < retry.tries) {
      const seconds = pauseBefore(asking, retry.kind, afterSeconds);
      asking.tries++;
      this.#agenda.plan(this.#now + seconds, () => this.#attempt(asking));
    } else if (clients) {
      this.#after(Math.max(LEAST_PAUSE, thinkTime(asking)), () => this.#request(askers, flow, client));
    }
  }
  /** True if the attempt fails however little is let in. */
  #failsAnyway(asking) {
    const { unrelated } = this.#world;
    if (asking.doomed || unrelated === null) return asking.doomed;
    const { share, from, to } = unrelated;
    return this.#now >= from && this.#now < to && luckOf(asking, UNRELATED) < share;
  }
  get #window() {
    return Math.min(this.#run.windows - 1, Math.floor(this.#now / WINDOW));
  }
  #write({ course }, column, cost) {
    course[column][this.#window] += cost;
  }
  #after(seconds, run) {
    if (seconds > 0) this.#agenda.plan(this.#now + seconds, run);
    else run();
  }
};
function luckOf({ askers, id, tries }, purpose) {
  return luck(askers.seed, id, purpose + ATTEMPT * tries);
}
function thinkTime(asking) {
  return -Math.log(1 - luckOf(asking, THINK)) * asking.askers.thinkSeconds;
}
function pauseBefore(asking, kind, afterSeconds) {
  const jitter = 0.5 + luckOf(asking, PAUSE);
  if (kind === "now") return 0.01 * jitter;
  return kind === "backoff" ? 0.2 * 2 ** asking.tries * jitter : Math.ceil(afterSeconds) * (1 + 0.25 * jitter);
}
export {
  WINDOW,
  simulate
};
