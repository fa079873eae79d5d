import { setImmediate } from 'node:timers/promises'
import { mostWanted, type Sample } from '../observe/history.js'
import type { ChildSnapshot, DoormanServerSummary, ResourceTemplate, ServerResourceSummary } from '../server/index.js'
import { type Html, html } from './html.js'
import { STYLE } from './style.js'

/** All that the page shows. Times are seconds since the epoch. */
export interface Status {
  snapshot: DoormanServerSummary
  address: string
  httpUrl: string | undefined
  serverRole: string
  /** How the master is found: by an election with a lock, or not at all. */
  lock: string | undefined
  parent: string | undefined
  startedAt: number
  now: number
  /** What is not as it should be. */
  problems: readonly string[]
  /** Show the clients of this resource. */
  resource: string | undefined
  /** Those with the largest leases, one more than are shown if there are as many. */
  children: readonly ChildSnapshot[]
  /** What a resource was like over the last minutes, the oldest first. */
  past(resourceId: string): readonly Sample[]
}

/** Rows on one page: the clients with the largest leases, the resources of which most is wanted. */
export const MOST_CHILDREN = 200
const MOST_RESOURCES = 200
const MOST_TEMPLATES = 200

/** Made in one go: more rows would keep calls waiting. */
const ROWS_AT_ONCE = 20

/** The page, with all it needs; it looks again every five seconds. Made with pauses, in which others are answered. */
export async function statusPage(status: Status): Promise<string> {
  const { snapshot, problems } = status
  const chosen = snapshot.resources.find(({ id }) => id === status.resource)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>Doorman ${snapshot.id}</title>
${STYLE}
</head>
<body>
<main>
<header><h1>Doorman</h1><span class="soft">${snapshot.id}</span>${badge(snapshot)}</header>
${problems.map((problem) => html`<div class="card warning">${problem}</div>`)}
${facts(status)}
${await (chosen === undefined ? resources(status) : children(chosen, status))}
${await configuration(snapshot.templates)}
</main>
</body>
</html>
`
  return page.text
}

function badge({ isMaster, masterAddress }: DoormanServerSummary): Html {
  if (isMaster) return html`<span class="badge master">master</span>`
  if (masterAddress === undefined) return html`<span class="badge none">no master</span>`
  return html`<span class="badge">not the master</span>`
}

function facts({ snapshot, address, httpUrl, serverRole, lock, parent, startedAt, now }: Status): Html {
  const all: [string, string][] = [
    ['Master', snapshot.masterAddress ?? (snapshot.isMaster ? address : 'unknown')],
    ['Election', lock === undefined ? 'none: always the master' : `on etcd, ${lock}`],
    ['Role', parent === undefined ? serverRole : `${serverRole}, below ${parent}`],
    ['gRPC', address],
    ['HTTP/JSON', httpUrl ?? 'not served'],
    ['Running for', duration(now - startedAt)],
  ]
  const fact = ([name, value]: [string, string]): Html =>
    html`<div class="fact"><div>${name}</div><div>${value}</div></div>`
  return html`<section class="card facts">${all.map(fact)}</section>`
}

async function resources({ snapshot: { resources: all }, past }: Status): Promise<Html> {
  const shown = mostWanted(all, MOST_RESOURCES)
  if (all.length === 0)
    return html`<h2>Resources</h2><section class="card empty">Nobody has asked for anything yet.</section>`
  return html`<h2>Resources</h2>
<section class="card scroll"><table>
<thead><tr><th>Resource</th><th>Leased, and wanted</th><th>Last minutes</th><th class="number">Capacity</th>
<th class="number">Leased</th><th class="number">Wanted</th><th class="number">Waiting</th><th class="number">Clients</th>
<th>Algorithm</th></tr></thead>
<tbody>${await rows(shown, (resource) => resourceRow(resource, past(resource.id)))}</tbody>
</table>${rest(all.length - shown.length)}</section>
${LEGEND}`
}

const LEGEND = html`<div class="legend">
<span><i style="background:var(--has)"></i>leased</span>
<span><i style="background:var(--reserve)"></i>kept back: a predecessor may have leased it</span>
<span><i style="background:var(--wants)"></i>wanted</span>
<span><i style="background:var(--bad)"></i>waiting</span>
<span><i style="background:var(--text);width:3px"></i>capacity</span>
</div>`

async function rows<T>(items: readonly T[], row: (item: T) => Html): Promise<Html[]> {
  const made: Html[] = []
  for (const item of items) if (made.push(row(item)) % ROWS_AT_ONCE === 0) await setImmediate()
  return made
}

function rest(count: number): Html | undefined {
  return count > 0 ? html`<div class="empty">and ${amount(count)} smaller ones</div>` : undefined
}

function resourceRow(resource: ServerResourceSummary, past: readonly Sample[]): Html {
  const { id, capacity, sumHas, sumWants, sumWaiting, clients, algorithm, learning, withdrawn } = resource
  return html`<tr>
<td class="name"><a href="?${String(new URLSearchParams({ resource: id }))}">${id}</a>
${learning ? html`<span class="tag">learning</span>` : undefined}
${withdrawn ? html`<span class="tag">not configured any more</span>` : undefined}</td>
<td>${bar(resource)}</td><td>${curve(past)}</td>
<td class="number">${amount(capacity)}</td><td class="number">${amount(sumHas)}</td>
<td class="number">${amount(sumWants)}</td><td class="number">${amount(sumWaiting)}</td>
<td class="number">${amount(clients)}</td><td>${algorithm.kind}</td>
</tr>`
}

const CURVE = { width: 140, height: 30 }

/** Lines of what was wanted, leased, waiting and there to be had, the newest at the right. */
function curve(past: readonly Sample[]): Html | undefined {
  if (past.length < 2) return undefined
  const { width, height } = CURVE
  const most = Math.max(Number.MIN_VALUE, ...past.map(({ has, wants, capacity }) => Math.max(has, wants, capacity)))
  const line = (of: keyof Sample): Html => {
    const points = past.map((sample, i) => {
      const x = (i / (past.length - 1)) * width
      const y = height - 1 - (sample[of] / most) * (height - 2)
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    return html`<polyline class="${of}" points="${points.join(' ')}"/>`
  }
  return html`<svg class="curve" viewBox="0 0 ${width} ${height}" role="img" aria-label="the last minutes">
${(['capacity', 'wants', 'waiting', 'has'] as const).map(line)}</svg>`
}

function bar({ capacity, sumHas, sumWants, reserve }: ServerResourceSummary): Html {
  const whole = Math.max(capacity, sumWants, sumHas + reserve, Number.MIN_VALUE)
  const part = (value: number): string => `${Math.round((1_000 * value) / whole) / 10}%`
  const title = `${amount(sumHas)} leased, ${amount(sumWants)} wanted, of ${amount(capacity)}`
  return html`<div class="bar" role="img" aria-label="${title}" title="${title}">
<i class="wants" style="width:${part(sumWants)}"></i>
<i class="reserve" style="left:${part(sumHas)};width:${part(reserve)}"></i>
<i class="has" style="width:${part(sumHas)}"></i>
<i class="capacity" style="left:calc(${part(capacity)} - 2px)"></i>
</div>`
}

async function children(
  resource: ServerResourceSummary,
  { now, parent, children: sorted, past }: Status,
): Promise<Html> {
  const { id, safeCapacity, reserve, clients } = resource
  const shown = sorted.slice(0, MOST_CHILDREN)
  const largest = Math.max(Number.MIN_VALUE, ...shown.map(({ has, wants }) => Math.max(has, wants)))
  return html`<h2><a href="?">Resources</a> / ${id}</h2>
<section class="card scroll"><table>
<thead><tr><th>Leased, and wanted</th><th>Last minutes</th><th class="number">Capacity</th>
<th class="number">Leased</th><th class="number">Wanted</th><th class="number">Waiting</th><th class="number">Kept back</th><th class="number">Safe capacity</th>
${parent === undefined ? undefined : html`<th>Lease from the parent</th>`}</tr></thead>
<tbody><tr><td>${bar(resource)}</td><td>${curve(past(id))}</td><td class="number">${amount(resource.capacity)}</td>
<td class="number">${amount(resource.sumHas)}</td><td class="number">${amount(resource.sumWants)}</td>
<td class="number">${amount(resource.sumWaiting)}</td>
<td class="number">${amount(reserve)}</td><td class="number">${amount(safeCapacity)}</td>
${parent === undefined ? undefined : html`<td>${leaseOf(resource, now)}</td>`}</tr>
</tbody></table></section>
${LEGEND}
<h2>${amount(clients)} ${clients === 1 ? 'client' : 'clients'}</h2>
<section class="card scroll"><table>
<thead><tr><th>Client</th><th>Has, and wants</th><th class="number">Has</th><th class="number">Wants</th>
<th class="number">Subclients</th><th>Lease</th><th class="number">Refresh</th><th class="number">Asked</th></tr></thead>
<tbody>${await rows(shown, (child) => childRow(child, largest, now))}</tbody>
</table>${shown.length < sorted.length ? rest(clients - shown.length) : undefined}
</section>`
}

function leaseOf({ lease }: ServerResourceSummary, now: number): string {
  return lease === undefined ? 'none' : `${amount(lease.capacity)}, ${expiry(lease.expiryTime, now)}`
}

function childRow(child: ChildSnapshot, largest: number, now: number): Html {
  const part = (value: number): string => `${Math.round((1_000 * value) / largest) / 10}%`
  const { id, kind, has, wants, subclients, expiryTime, refreshInterval, askedAt } = child
  return html`<tr>
<td class="name">${id} ${kind === 'server' ? html`<span class="tag">server</span>` : undefined}</td>
<td><div class="bar" title="${amount(has)} of ${amount(wants)}"><i class="wants" style="width:${part(wants)}"></i>
<i class="has" style="width:${part(has)}"></i></div></td>
<td class="number">${amount(has)}</td><td class="number">${amount(wants)}</td><td class="number">${amount(subclients)}</td>
<td>${expiry(expiryTime, now)}</td><td class="number">${amount(refreshInterval)} s</td>
<td class="number">${duration(now - askedAt)} ago</td>
</tr>`
}

async function configuration(templates: readonly ResourceTemplate[]): Promise<Html> {
  return html`<h2>Configuration</h2>
<section class="card scroll"><table>
<thead><tr><th>Name or glob</th><th class="number">Capacity</th><th class="number">Safe</th><th>Algorithm</th>
<th class="number">Lease</th><th class="number">Refresh</th><th class="number">Learning</th></tr></thead>
<tbody>${await rows(templates.slice(0, MOST_TEMPLATES), templateRow)}</tbody>
</table>${rest(templates.length - MOST_TEMPLATES)}</section>`
}

function templateRow({ identifierGlob, capacity, safeCapacity, algorithm, description }: ResourceTemplate): Html {
  const { kind, leaseLength, refreshInterval, learningModeDuration = leaseLength, parameters } = algorithm
  const more = parameters.map(({ name, value = '' }) => `${name}: ${value}`).join(', ')
  return html`<tr>
<td class="name">${identifierGlob}<div class="soft">${description}</div></td><td class="number">${amount(capacity)}</td>
<td class="number">${safeCapacity === undefined ? 'by clients' : amount(safeCapacity)}</td>
<td class="name">${kind}<div class="soft">${more}</div></td>
<td class="number">${leaseLength} s</td><td class="number">${refreshInterval} s</td>
<td class="number">${learningModeDuration} s</td>
</tr>`
}

const NUMBERS = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

function amount(value: number): string {
  return NUMBERS.format(value)
}

function expiry(at: number, now: number): string {
  return at > now ? `${duration(at - now)} left` : 'run out'
}

function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 120) return `${whole} s`
  if (whole < 7_200) return `${Math.floor(whole / 60)} min`
  if (whole < 172_800) return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`
  return `${Math.floor(whole / 86_400)} days`
}
