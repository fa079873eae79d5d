import type { JSX } from 'preact'
import type { BudgetFrame, Frame, LeaseFrame, ProcessFrame, QueueFrame, RefusalFrame, SignalFrame } from '../frame.js'
import { Bar, ceiling, TimeChart, useWidth } from './charts.js'
import type { BarProps } from './props.js'
import { capacityOf, count, duration, number, percent, rate, unitOf } from './view.js'
import { reasonOf } from './words.js'

type ColourOf = (flow: string) => string

/** A name, and its number below. */
export function Fact({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

/** The part within a limit, and the part beyond it at its end. */
function ends(within: number, beyond: number, colour: string): BarProps['parts'] {
  return [
    { value: within, colour },
    { value: beyond, from: within, colour: 'var(--warn)' },
  ]
}

const PRIORITIES = [-2, -1, 0, 1, 2] as const

export function WaitingRoom({
  queue,
  frame,
  colourOf,
}: {
  queue: QueueFrame
  frame: Frame
  colourOf: ColourOf
}): JSX.Element {
  const most = Math.max(1, ...queue.flows.map(({ waiting }) => waiting))
  const waits = frame.waits['queue']
  const shown = queue.flows.slice(0, 10)
  const rest = queue.waiting - shown.reduce((sum, { waiting }) => sum + waiting, 0)
  return (
    <section aria-labelledby="waiting">
      <div class="head">
        <h2 id="waiting">Waiting room</h2>
        <p>
          {count(queue.waiting, 'request')}
          {queue.drainPerSecond !== null && queue.waiting > 0 && `; ${rate(queue.drainPerSecond)} leave it`}
          {waits &&
            waits.count > 0 &&
            `; waits ${duration(waits.p50)} at the median, ${duration(waits.p99)} at the 99th percentile`}
        </p>
      </div>
      {queue.waiting === 0 && <p class="empty">No requests wait.</p>}
      <ul class="lanes">
        {shown.map(({ flow, waiting, oldestMs, running }) => (
          <Lane
            key={flow}
            who={flow}
            colour={colourOf(flow)}
            bar={<Bar parts={[{ value: waiting, colour: colourOf(flow) }]} most={most} />}
          >
            <b data-waiting={flow}>{waiting}</b>{' '}
            <span class="soft">
              · head {duration(oldestMs)} · {running} run
            </span>
          </Lane>
        ))}
      </ul>
      {rest > 0 && <p class="soft small">{count(rest, 'more request')} of other flows.</p>}
    </section>
  )
}

function Lane({
  who,
  colour,
  bar,
  children,
}: {
  who: string
  colour: string
  bar: JSX.Element
  children: preact.ComponentChildren
}): JSX.Element {
  return (
    <li class="lane">
      <div class="who">
        <span class="swatch" style={{ background: colour }} />
        <span class="label" title={who}>
          {who}
        </span>
      </div>
      {bar}
      <div class="amount">{children}</div>
    </li>
  )
}

export function Capacity({
  frames,
  span,
  width,
}: {
  frames: readonly Frame[]
  span: number
  width?: number | undefined
}): JSX.Element | null {
  const frame = frames.at(-1)
  if (frame === undefined) return null
  const { queue, fair, lease } = frame
  const slots = queue?.capacity
  const visible = frames.filter(({ atMs }) => atMs >= frame.atMs - span)
  if (!slots && !fair && !lease) return null
  const inUse = slots
    ? (each: Frame): number => each.queue?.capacity?.inFlight ?? 0
    : (each: Frame): number => each.served / each.seconds
  const limit = slots ? (each: Frame): number | null => each.queue?.capacity?.limit ?? null : capacityOf
  const most = ceiling(Math.max(1, ...visible.map((each) => Math.max(inUse(each), limit(each) ?? 0))))
  const line = (
    x: (atMs: number) => number,
    y: (value: number) => number,
    of: (frame: Frame) => number | null,
  ): string => {
    let before: number | null = null
    return visible
      .map((each) => {
        const value = of(each)
        const part =
          value === null ? '' : `${before === null ? 'M' : 'L'}${x(each.atMs).toFixed(1)},${y(value).toFixed(1)}`
        before = value
        return part
      })
      .join('')
  }
  return (
    <section aria-labelledby="capacity">
      <div class="head">
        <h2 id="capacity">Capacity</h2>
        <p>{capacityWords(frame)}</p>
      </div>
      <dl class="facts">
        {slots && <Fact name="slots" value={slots.limit === null ? '–' : number(slots.limit)} />}
        {slots && <Fact name="in use" value={number(slots.inFlight)} />}
        {fair?.capacityPerSecond != null && <Fact name="measured" value={rate(fair.capacityPerSecond)} />}
        {fair?.engaged && fair.fairRatePerSecond !== null && (
          <Fact name="fair share of weight 1" value={rate(fair.fairRatePerSecond)} />
        )}
        {fair && <Fact name="failures" value={percent(fair.failureShare)} />}
        {fair && fair.backgroundFailureShare > 0 && (
          <Fact name="fail at any load" value={percent(fair.backgroundFailureShare)} />
        )}
        {frame.durations.count > 0 && (
          <Fact
            name="runs for, p50 / p99"
            value={`${duration(frame.durations.p50)} / ${duration(frame.durations.p99)}`}
          />
        )}
      </dl>
      <TimeChart
        label={`Capacity: ${capacityWords(frame)}`}
        height={170}
        span={span}
        endMs={frame.atMs}
        most={most}
        width={width}
      >
        {(x, y) => (
          <>
            <path d={line(x, y, inUse)} fill="none" stroke="var(--accent)" stroke-width="2" stroke-linejoin="round" />
            <path d={line(x, y, limit)} class="capacity" />
          </>
        )}
      </TimeChart>
      <ul class="legend">
        <li>
          <span class="swatch line" />
          {slots ? 'slots there are' : 'measured capacity'}
        </li>
        <li>
          <span class="swatch" style={{ background: 'var(--accent)' }} />
          {slots ? 'slots in use' : 'served per second'}
        </li>
      </ul>
    </section>
  )
}

/** The source of the capacity, and the state of it. */
function capacityWords({ queue, fair, lease }: Frame): string {
  const slots = queue?.capacity
  if (lease) return leaseWords(lease)
  if (slots?.kind === 'adaptive')
    return `learned from how long requests take${slots.climbing ? '; tries more at this moment' : slots.looking ? '; looks at less for a moment' : ''}`
  if (slots?.kind === 'fixed') return 'as you set it'
  if (fair?.capacityPerSecond != null)
    return `measured while it was short${fair.looking ? '; lets in less for a moment, to see what that does' : ''}`
  return 'not known yet: nothing was short so far'
}

function leaseWords({ id, by, capacity, wants, endsInMs }: LeaseFrame): string {
  const has = capacity === null ? 'no limit' : number(capacity)
  const source = by === 'mode' ? 'no server answers: the safe capacity' : 'leased'
  return `${id}: ${has}${wants === null ? '' : ` of ${number(wants)} wanted`}, ${source}${endsInMs === null ? '' : `, for ${duration(endsInMs)} more`}`
}

export function Shedding({
  signals,
  width,
}: {
  signals: readonly SignalFrame[]
  width?: number | undefined
}): JSX.Element {
  return (
    <section aria-labelledby="shedding">
      <div class="head">
        <h2 id="shedding">Shedding</h2>
        <p>the chance of refusal by load; the dot is now</p>
      </div>
      <div class="signals">
        {signals.map((signal) => (
          <Signal key={signal.name} signal={signal} width={width} />
        ))}
      </div>
    </section>
  )
}

function Signal({ signal, width: given }: { signal: SignalFrame; width: number | undefined }): JSX.Element {
  const { name, from, to, load, reserved, probability, probabilities, curve, problem } = signal
  const [ref, width] = useWidth(given)
  const height = 120
  const most = Math.max(to * 1.08, Math.min(load ?? 0, to * 1.5))
  const x = (value: number): number => 4 + ((width - 8) * Math.min(value, most)) / most
  const y = (chance: number): number => 12 + (height - 34) * (1 - chance)
  const points = curve.map(
    (chance, i) => `${x(from + ((to - from) * i) / Math.max(1, curve.length - 1)).toFixed(1)},${y(chance).toFixed(1)}`,
  )
  const unit = unitOf(name, to)
  const says = load === null ? 'nothing to go by yet' : `${unit(load)}: ${percent(probability)} are refused`
  return (
    <div>
      <h3>{name}</h3>
      <div class={problem === null ? 'soft small' : 'bad small'}>{problem ?? says}</div>
      <div ref={ref} role="img" aria-label={`${name}: ${says}; refuses from ${unit(from)} to ${unit(to)}`}>
        {width > 0 && (
          <svg width={width} height={height} aria-hidden="true">
            <line class="axis" x1="0" x2={width} y1={y(0)} y2={y(0)} />
            <line class="grid" x1="0" x2={width} y1={y(1)} y2={y(1)} />
            <path class="curve" d={`M${x(0)},${y(0)}L${x(from)},${y(0)}L${points.join('L')}L${x(most)},${y(1)}`} />
            {load !== null && reserved > 0 && (
              <line class="reserve" x1={x(Math.max(0, load - reserved))} x2={x(load)} y1={y(0)} y2={y(0)} />
            )}
            {load !== null && <circle class="load" cx={x(load)} cy={y(probability)} r="5.5" />}
            <text
              x={x(from)}
              y={height - 6}
              text-anchor={x(from) < 40 ? 'start' : x(to) - x(from) < 70 ? 'end' : 'middle'}
            >
              {unit(from)}
            </text>
            <text x={x(to)} y={height - 6} text-anchor="end">
              {unit(to)}
            </text>
          </svg>
        )}
      </div>
      {probability > 0 && (
        <ul class="priorities" aria-label="Chance of refusal by priority">
          {PRIORITIES.map((priority, i) => (
            <li key={priority}>
              priority {priority > 0 ? `+${priority}` : String(priority).replace('-', '−')}{' '}
              <b>{percent(probabilities[i] ?? 0)}</b>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

export function Budget({ budget, colourOf }: { budget: BudgetFrame; colourOf: ColourOf }): JSX.Element {
  const { limit, used, windowMs, heaviest, tenants, storeErrors } = budget
  const most = Math.max(1e-9, ...heaviest.map((tenant) => Math.max(tenant.used, tenant.guarantee)))
  return (
    <section aria-labelledby="budget">
      <div class="head">
        <h2 id="budget">Budget</h2>
        <p>
          {number(used)} of {number(limit)} used in this window of {duration(windowMs)}
          {tenants !== null && `, by ${count(tenants, 'tenant')}`}
          {storeErrors > 0 && `; the store failed ${number(storeErrors)} times`}
        </p>
      </div>
      <Bar parts={[{ value: used, colour: 'var(--accent)' }]} most={limit} />
      <ul class="lanes">
        {heaviest.slice(0, 10).map((tenant) => {
          const within = Math.min(tenant.used, tenant.guarantee)
          return (
            <Lane
              key={tenant.tenant}
              who={tenant.tenant === '' ? 'all others' : tenant.tenant}
              colour={colourOf(tenant.tenant)}
              bar={<Bar parts={ends(within, tenant.used - within, colourOf(tenant.tenant))} most={most} />}
            >
              <b>{number(tenant.used)}</b>{' '}
              <span class="soft">
                of {number(tenant.guarantee)}
                {tenant.used > tenant.guarantee && `, ${number(tenant.used - tenant.guarantee)} borrowed`}
                {tenant.waiting && ', refused'}
              </span>
            </Lane>
          )
        })}
      </ul>
      <ul class="legend">
        <li>
          <span class="swatch" style={{ background: 'var(--accent)' }} />
          within the guarantee
        </li>
        <li>
          <span class="swatch" style={{ background: 'var(--warn)' }} />
          borrowed
        </li>
      </ul>
    </section>
  )
}

export function Refusals({
  refusals,
  colourOf,
}: {
  refusals: readonly RefusalFrame[]
  colourOf: ColourOf
}): JSX.Element {
  return (
    <section aria-labelledby="refusals">
      <div class="head">
        <h2 id="refusals">Last refusals</h2>
        <p>a sample of eight a second</p>
      </div>
      {refusals.length === 0 && <p class="empty">No request was refused while this page was open.</p>}
      {refusals.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reached by the keyboard
        <ol class="log" tabIndex={0} aria-label="Last refusals, the newest first">
          {grouped(refusals).map(({ refusal, alike }) => (
            <li key={refusal.id}>
              <time>{new Date(refusal.atMs).toLocaleTimeString()}</time>
              <div>
                <span class="swatch" style={{ background: colourOf(refusal.flow) }} />
                <b>{refusal.flow}</b>: {reasonOf(refusal)}
                {refusal.retryAfterMs !== null && refusal.retryAfterMs >= 1 && (
                  <span class="soft">; could come back in {duration(refusal.retryAfterMs)}</span>
                )}
                {refusal.retryAfterMs === null && <span class="soft">; would never be admitted</span>}
                {alike > 0 && <span class="soft">; and {alike} more like it</span>}
              </div>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

/** Consecutive refusals of one flow for one reason become one line. */
function grouped(refusals: readonly RefusalFrame[]): { refusal: RefusalFrame; alike: number }[] {
  const groups: { refusal: RefusalFrame; alike: number }[] = []
  for (const refusal of refusals) {
    const last = groups.at(-1)
    const { flow, stage, reason } = refusal
    if (last && last.refusal.flow === flow && last.refusal.stage === stage && last.refusal.reason === reason)
      last.alike++
    else groups.push({ refusal, alike: 0 })
  }
  return groups
}

export function Fleet({ frame }: { frame: Frame }): JSX.Element | null {
  const { fleet, fair, process } = frame
  const sharing = fair?.sharing
  if (fleet.length === 0 && !sharing) return null
  const most = Math.max(
    1e-9,
    ...fleet.map(({ admittedPerSecond, refusedPerSecond }) => admittedPerSecond + refusedPerSecond),
  )
  return (
    <section aria-labelledby="fleet">
      <div class="head">
        <h2 id="fleet">Processes</h2>
        <p>
          {sharing
            ? `${count(sharing.members, 'process').replace('processs', 'processes')} share one clock; this one lets in ${percent(sharing.part)} of all`
            : `this page is of ${process}`}
        </p>
      </div>
      {fleet.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <div class="scroll" tabIndex={0}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">process</th>
                <th scope="col">admitted</th>
                <th scope="col">refused</th>
                <th scope="col">in flight</th>
                <th scope="col">waiting</th>
                <th scope="col">state</th>
                <th scope="col">share of what is asked</th>
              </tr>
            </thead>
            <tbody>
              {fleet.map((one: ProcessFrame) => (
                <tr key={one.process}>
                  <td>{one.process === process ? <b>{one.process}</b> : one.process}</td>
                  <td>{rate(one.admittedPerSecond)}</td>
                  <td>{rate(one.refusedPerSecond)}</td>
                  <td>{number(one.inFlight)}</td>
                  <td>{number(one.waiting)}</td>
                  <td>{one.engaged ? 'short' : 'well'}</td>
                  <td style={{ minWidth: '120px' }}>
                    <Bar parts={ends(one.admittedPerSecond, one.refusedPerSecond, 'var(--accent)')} most={most} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
