import { setImmediate } from 'node:timers/promises'
import { type BarProps, type LinesProps, viewAsHtml } from '@fairlead/console/views'
import { mostWanted, type Sample } from '../observe/history.js'
import type { ChildSnapshot, DoormanServerSummary, ResourceTemplate, ServerResourceSummary } from '../server/index.js'
import { Html, html, STYLE } from './html.js'

/** The contents of the page. Times are seconds since the epoch. */
export interface Status {
  snapshot: DoormanServerSummary
  address: string
  httpUrl: string | undefined
  serverRole: string
  /** The lock of the election; undefined without one. */
  lock: string | undefined
  parent: string | undefined
  startedAt: number
  now: number
  /** Problems to report. */
  problems: readonly string[]
  /** The resource whose clients are shown. */
  resource: string | undefined
  /** The clients with the largest leases, one more than are shown, if there are any. */
  children: readonly ChildSnapshot[]
  /** The recent history of a resource, oldest first. */
  past(resourceId: string): readonly Sample[]
}

/** Rows on one page: the clients with the largest leases, the resources with the largest wants. */
export const MOST_CHILDREN = 200
const MOST_RESOURCES = 200
const MOST_TEMPLATES = 200

/** Rows rendered between two pauses: more would keep calls waiting. */
const ROWS_AT_ONCE = 20

/** The complete page, which reloads every five seconds. Rendered with pauses, in which other calls are answered. */
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
<body class="fairlead">
<main>
<header><h1>Doorman</h1><span class="soft">${snapshot.id}</span>${badge(snapshot)}</header>
${problems.map((problem) => html`<section class="warning">${problem}</section>`)}
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
  const fact = ([name, value]: [string, string]): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`
  return html`<section><dl class="facts">${all.map(fact)}</dl></section>`
}

async function resources({ snapshot: { resources: all }, past }: Status): Promise<Html> {
  const shown = mostWanted(all, MOST_RESOURCES)
  if (all.length === 0)
    return html`<h2>Resources</h2><section><p class="empty">No client has asked for anything yet.</p></section>`
  return html`<h2>Resources</h2>
<section class="scroll" tabindex="0" aria-label="Resources"><table class="plain">
<thead><tr><th>Resource</th><th class="words">Leased, and wanted</th><th class="words">Last minutes</th><th>Capacity</th>
<th>Leased</th><th>Wanted</th><th>Waiting</th><th>Clients</th>
<th class="words">Algorithm</th></tr></thead>
<tbody>${await rows(shown, (resource) => resourceRow(resource, past(resource.id)))}</tbody>
</table>${rest(all.length - shown.length)}</section>
${LEGEND}`
}

/** The series and their colours, in bars and curves alike. */
const COLOURS = {
  has: ['var(--c0)', 'leased'],
  reserve: ['var(--c5)', 'kept back: a predecessor may have leased it'],
  wants: ['var(--c6)', 'wanted'],
  waiting: ['var(--bad)', 'waiting'],
  capacity: ['var(--text)', 'capacity'],
} as const

const LEGEND = html`<ul class="legend">${Object.values(COLOURS).map(
  ([colour, words]) => html`<li><span class="swatch" style="background:${colour}"></span>${words}</li>`,
)}</ul>`

async function rows<T>(items: readonly T[], row: (item: T) => Html): Promise<Html[]> {
  const made: Html[] = []
  for (const item of items) if (made.push(row(item)) % ROWS_AT_ONCE === 0) await setImmediate()
  return made
}

function rest(count: number): Html | undefined {
  return count > 0 ? html`<p class="empty">and ${amount(count)} smaller ones</p>` : undefined
}

function resourceRow(resource: ServerResourceSummary, past: readonly Sample[]): Html {
  const { id, capacity, sumHas, sumWants, sumWaiting, clients, algorithm, learning, withdrawn } = resource
  return html`<tr>
<td class="words"><a href="?${String(new URLSearchParams({ resource: id }))}">${id}</a>
${learning ? html`<span class="tag">learning</span>` : undefined}
${withdrawn ? html`<span class="tag">not configured any more</span>` : undefined}</td>
<td class="words">${bar(resource)}</td><td class="words">${curve(past)}</td>
<td>${amount(capacity)}</td><td>${amount(sumHas)}</td>
<td>${amount(sumWants)}</td><td>${amount(sumWaiting)}</td>
<td>${amount(clients)}</td><td class="words"><span class="whole">${algorithm.kind}</span></td>
</tr>`
}

/** Curves of wants, leases, waiting amounts and capacity, with the newest on the right. */
function curve(past: readonly Sample[]): Html | undefined {
  if (past.length < 2) return undefined
  const line = (of: keyof Sample): LinesProps['lines'][number] => {
    return { values: past.map((sample) => sample[of]), colour: COLOURS[of][0] }
  }
  const lines = (['capacity', 'wants', 'waiting', 'has'] as const).map(line)
  return new Html(viewAsHtml('lines', { lines, width: 140, height: 30, label: 'the last minutes' }))
}

function bar({ capacity, sumHas, sumWants, reserve }: ServerResourceSummary): Html {
  const most = Math.max(capacity, sumWants, sumHas + reserve)
  const label = `${amount(sumHas)} leased, ${amount(sumWants)} wanted, of ${amount(capacity)}`
  const kept = { value: reserve, from: sumHas, colour: COLOURS.reserve[0] }
  return barOf({ parts: [wanted(sumWants), kept, leased(sumHas)], most, mark: capacity, label })
}

const leased = (value: number): BarProps['parts'][number] => ({ value, colour: COLOURS.has[0] })
const wanted = (value: number): BarProps['parts'][number] => ({ value, colour: COLOURS.wants[0], faint: true })

function barOf(props: BarProps): Html {
  return html`<div class="bar" title="${props.label}">${new Html(viewAsHtml('bar', props))}</div>`
}

async function children(
  resource: ServerResourceSummary,
  { now, parent, children: sorted, past }: Status,
): Promise<Html> {
  const { id, safeCapacity, reserve, clients } = resource
  const shown = sorted.slice(0, MOST_CHILDREN)
  const largest = Math.max(Number.MIN_VALUE, ...shown.map(({ has, wants }) => Math.max(has, wants)))
  return html`<h2><a href="?">Resources</a> / ${id}</h2>
<section class="scroll" tabindex="0" aria-label="The resource"><table class="plain">
<thead><tr><th class="words">Leased, and wanted</th><th class="words">Last minutes</th><th>Capacity</th>
<th>Leased</th><th>Wanted</th><th>Waiting</th><th>Kept back</th><th>Safe capacity</th>
${parent === undefined ? undefined : html`<th>Lease from the parent</th>`}</tr></thead>
<tbody><tr><td>${bar(resource)}</td><td class="words">${curve(past(id))}</td><td>${amount(resource.capacity)}</td>
<td>${amount(resource.sumHas)}</td><td>${amount(resource.sumWants)}</td>
<td>${amount(resource.sumWaiting)}</td>
<td>${amount(reserve)}</td><td>${amount(safeCapacity)}</td>
${parent === undefined ? undefined : html`<td>${leaseOf(resource, now)}</td>`}</tr>
</tbody></table></section>
${LEGEND}
<h2>${amount(clients)} ${clients === 1 ? 'client' : 'clients'}</h2>
<section class="scroll" tabindex="0" aria-label="Clients"><table class="plain">
<thead><tr><th>Client</th><th class="words">Has, and wants</th><th>Has</th><th>Wants</th>
<th>Subclients</th><th>Lease</th><th>Refresh</th><th>Asked</th></tr></thead>
<tbody>${await rows(shown, (child) => childRow(child, largest, now))}</tbody>
</table>${shown.length < sorted.length ? rest(clients - shown.length) : undefined}
</section>`
}

function leaseOf({ lease }: ServerResourceSummary, now: number): string {
  return lease === undefined ? 'none' : `${amount(lease.capacity)}, ${expiry(lease.expiryTime, now)}`
}

function childRow(child: ChildSnapshot, largest: number, now: number): Html {
  const { id, kind, has, wants, subclients, expiryTime, refreshInterval, askedAt } = child
  return html`<tr>
<td class="words">${id} ${kind === 'server' ? html`<span class="tag">server</span>` : undefined}</td>
<td class="words">${barOf({ parts: [wanted(wants), leased(has)], most: largest, label: `${amount(has)} of ${amount(wants)}` })}</td>
<td>${amount(has)}</td><td>${amount(wants)}</td><td>${amount(subclients)}</td>
<td>${expiry(expiryTime, now)}</td><td>${amount(refreshInterval)} s</td>
<td>${duration(now - askedAt)} ago</td>
</tr>`
}

async function configuration(templates: readonly ResourceTemplate[]): Promise<Html> {
  return html`<h2>Configuration</h2>
<section class="scroll" tabindex="0" aria-label="Configuration"><table class="plain">
<thead><tr><th>Name or glob</th><th>Capacity</th><th>Safe</th><th class="words">Algorithm</th>
<th>Lease</th><th>Refresh</th><th>Learning</th></tr></thead>
<tbody>${await rows(templates.slice(0, MOST_TEMPLATES), templateRow)}</tbody>
</table>${rest(templates.length - MOST_TEMPLATES)}</section>`
}

function templateRow({ identifierGlob, capacity, safeCapacity, algorithm, description }: ResourceTemplate): Html {
  const { kind, leaseLength, refreshInterval, learningModeDuration = leaseLength, parameters } = algorithm
  const more = parameters.map(({ name, value = '' }) => `${name}: ${value}`).join(', ')
  return html`<tr>
<td class="words">${identifierGlob}<div class="soft">${description}</div></td><td>${amount(capacity)}</td>
<td>${safeCapacity === undefined ? 'by clients' : amount(safeCapacity)}</td>
<td class="words"><span class="whole">${kind}</span><div class="soft">${more}</div></td>
<td>${leaseLength} s</td><td>${refreshInterval} s</td>
<td>${learningModeDuration} s</td>
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
