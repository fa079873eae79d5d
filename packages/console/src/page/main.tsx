import { type JSX, render } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Frame, RecordFrame, RefusalFrame } from '../frame.js'
import { River } from './charts.js'
import { type Connection, connect, listen, listenToRecords } from './connection.js'
import { Flows } from './flows.js'
import { Budget, Capacity, Fleet, Refusals, Shedding, WaitingRoom } from './panels.js'
import {
  colours,
  count,
  KEPT_FRAMES,
  number,
  percent,
  rate,
  riverOf,
  type Shares,
  type State,
  sharesOf,
  stateOf,
} from './view.js'
import { WhatIf } from './what-if.js'

const COLOURS = 8
const REFUSALS = 50
/** Time that charts show at least, and by which they grow until they show what is wanted. */
const SHORTEST_MS = 30_000
const SPANS: readonly (readonly [string, number])[] = [
  ['2 min', 120_000],
  ['10 min', 600_000],
]

interface Seen {
  readonly frames: readonly Frame[]
  readonly refusals: readonly RefusalFrame[]
}

function App({ connection }: { connection: Connection }): JSX.Element {
  const [live, setLive] = useState(false)
  const [seen, setSeen] = useState<Seen>({ frames: [], refusals: [] })
  const [frozen, setFrozen] = useState<Seen | undefined>()
  const [wanted, setSpan] = useState(120_000)
  const [recording, setRecording] = useState(false)
  const [records, setRecords] = useState<readonly RecordFrame[]>([])
  const [recordedFrom, setRecordedFrom] = useState<number | undefined>()
  useEffect(
    () =>
      listen(
        (frame) =>
          setSeen(({ frames, refusals }) => ({
            // After a break the server tells what was missed, and some of it again.
            frames: [...frames.filter(({ atMs }) => atMs < frame.atMs), frame].slice(-KEPT_FRAMES),
            refusals: [...frame.refusals]
              .filter(({ id }) => refusals.every((known) => known.id !== id))
              .sort((a, b) => b.id - a.id)
              .concat(refusals)
              .slice(0, REFUSALS),
          })),
        setLive,
      ),
    [],
  )
  useEffect(() => {
    if (!recording) return
    return listenToRecords((record) => setRecords((before) => [...before, record].slice(-KEPT_FRAMES)))
  }, [recording])
  const { frames, refusals } = frozen ?? seen
  const shares = useMemo(() => sharesOf(frames), [frames])
  const state = useMemo(() => stateOf(frames, shares), [frames, shares])
  const coloured = useRef<ReadonlyMap<string, number>>(new Map())
  coloured.current = useMemo(() => colours(coloured.current, shares, COLOURS), [shares])
  const colourOf = (flow: string): string => {
    const index = coloured.current.get(flow)
    return index === undefined ? 'var(--others)' : `var(--c${index})`
  }
  const toggle = (): void => setFrozen(frozen === undefined ? seen : undefined)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as Element | null
      const typing = target?.closest('input, select, textarea, button, a') != null
      if (event.key !== 'p' || typing || event.ctrlKey || event.metaKey || event.altKey) return
      toggle()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
  const frame = frames.at(-1)
  useEffect(() => {
    if (root !== null) root.dataset['frames'] = String(seen.frames.length)
  })
  // A page that was just opened has less to show: it fills the width all the same.
  const seenMs = (frame?.atMs ?? 0) - (frames[0]?.atMs ?? 0)
  const span = Math.min(wanted, Math.max(SHORTEST_MS, SHORTEST_MS * Math.ceil(seenMs / SHORTEST_MS)))
  return (
    <>
      <header>
        <h1>{frame?.gate ?? 'Fairlead'}</h1>
        <span class="soft small">{frame?.process}</span>
        <span class={`live push ${live && !frozen ? 'on' : ''}`}>
          {frozen ? 'paused' : live ? 'live' : 'no answer; tries again'}
        </span>
        <button type="button" aria-pressed={frozen !== undefined} onClick={toggle}>
          {frozen ? 'Go on' : 'Pause'}
          <kbd>p</kbd>
        </button>
      </header>
      <main>
        <StateBanner state={state} shares={shares} frame={frame} />
        {frame && (
          <>
            <RiverPanel frames={frames} span={span} wanted={wanted} setSpan={setSpan} coloured={coloured.current} />
            <Flows frames={frames} shares={shares} colourOf={colourOf} connection={connection} />
            <div class="pair">
              {frame.queue && <WaitingRoom queue={frame.queue} frame={frame} colourOf={colourOf} />}
              <Capacity frames={frames} span={span} />
            </div>
            {frame.shed.length > 0 && <Shedding signals={frame.shed} />}
            {frame.budget && <Budget budget={frame.budget} colourOf={colourOf} />}
            <Refusals refusals={refusals} colourOf={colourOf} />
            <Fleet frame={frame} />
            <WhatIf
              connection={connection}
              frames={frames}
              shares={shares}
              recording={recording}
              setRecording={(on: boolean) => {
                if (on) setRecords([])
                setRecordedFrom(on ? frame.atMs : recordedFrom)
                setRecording(on)
              }}
              records={records}
              recordedFromMs={recordedFrom}
            />
          </>
        )}
      </main>
    </>
  )
}

function StateBanner({
  state,
  shares,
  frame,
}: {
  state: State
  shares: Shares
  frame: Frame | undefined
}): JSX.Element {
  const { level, headline, detail } = state
  const refused = shares.asked > 0 ? shares.refused / shares.asked : 0
  return (
    <div class={`state ${level}`}>
      <p>
        <b class="headline">{headline}</b> <span class="rest">{detail}</span>
      </p>
      {/* Screen readers hear of changes, not of each second. */}
      <div class="hidden" role="status">
        {
          { well: 'All is well', short: 'There is a shortage', failing: 'Requests fail', closed: 'The gate is closed' }[
            level
          ]
        }
      </div>
      {frame && (
        <dl class="numbers">
          <Total name="asked" value={rate(shares.asked)} />
          <Total name="served" value={rate(shares.served)} />
          <Total name={`refused, ${percent(refused)}`} value={rate(shares.refused)} />
          <Total name="failed" value={rate(shares.failed)} />
          <Total name="in flight" value={number(frame.inFlight)} />
          <Total name="waiting" value={number(frame.waiting)} />
        </dl>
      )}
    </div>
  )
}

function Total({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function RiverPanel({
  frames,
  span,
  wanted,
  setSpan,
  coloured,
}: {
  frames: readonly Frame[]
  span: number
  wanted: number
  setSpan: (ms: number) => void
  coloured: ReadonlyMap<string, number>
}): JSX.Element {
  const named = [...coloured].sort((a, b) => a[1] - b[1])
  const flows = named.map(([flow]) => flow)
  const visible = useMemo(() => {
    const end = frames.at(-1)?.atMs ?? 0
    return frames.filter(({ atMs }) => atMs >= end - span - 3_000)
  }, [frames, span])
  const points = useMemo(() => riverOf(visible, flows), [visible, flows.join('\n')])
  const last = points.at(-1)
  const served = last?.served.reduce((sum, each) => sum + each, 0) ?? 0
  const label = `What was served, by flow: ${rate(served)} now, ${flows.map((flow, i) => `${flow} ${rate(last?.served[i + 1] ?? 0)}`).join(', ')}`
  return (
    <section aria-labelledby="river">
      <div class="head">
        <h2 id="river">Served and refused</h2>
        <p>cost per second; refused is hatched, above what is served</p>
        <span class="push">
          {SPANS.map(([words, ms]) => (
            <button type="button" key={ms} aria-pressed={wanted === ms} onClick={() => setSpan(ms)}>
              {words}
            </button>
          ))}
        </span>
      </div>
      <River
        points={points}
        flows={flows}
        colours={named.map(([, colour]) => colour)}
        span={span}
        height={innerWidth < 640 ? 220 : 300}
        label={label}
      />
      <ul class="legend">
        {named.map(([flow, colour]) => (
          <li key={flow}>
            <span class="swatch" style={{ background: `var(--c${colour})` }} />
            {flow}
          </li>
        ))}
        <li>
          <span class="swatch" />
          everyone else{frames.at(-1) ? `, ${count(Math.max(0, frames.at(-1)!.flowCount - flows.length), 'flow')}` : ''}
        </li>
        <li>
          <span class="swatch refused" />
          refused
        </li>
      </ul>
    </section>
  )
}

const root = document.querySelector<HTMLElement>('#console')
if (root !== null) {
  root.textContent = ''
  render(<App connection={connect()} />, root)
}
