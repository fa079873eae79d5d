import { type JSX, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Frame, RecordFrame, RefusalFrame } from '../frame.js'
import { Flows } from '../views/flows.js'
import { Budget, Capacity, Fleet, Refusals, Shedding, WaitingRoom } from '../views/panels.js'
import { RiverPanel } from '../views/river.js'
import { drawSafely } from '../views/safe.js'
import { useSeen } from '../views/seen.js'
import { StateBanner } from '../views/state.js'
import { KEPT_FRAMES } from '../views/view.js'
import { connect, listen, listenToRecords, type PageConnection } from './connection.js'
import { Detail } from './detail.js'
import { WhatIf } from './what-if.js'

const REFUSALS = 50
/** Shortest time span of charts, and the step by which they grow up to the chosen span. */
const SHORTEST_MS = 30_000
const SPANS: readonly (readonly [string, number])[] = [
  ['2 min', 120_000],
  ['10 min', 600_000],
]

interface Seen {
  readonly frames: readonly Frame[]
  readonly refusals: readonly RefusalFrame[]
}

function App({ connection }: { connection: PageConnection }): JSX.Element {
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
            // After a reconnection the server sends the missed frames, some of them again.
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
  const { shares, state, coloured, colourOf } = useSeen(frames)
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
  // A page that was just opened has less to show, but fills the width.
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
            <RiverPanel frames={frames} span={span} coloured={coloured}>
              {SPANS.map(([words, ms]) => (
                <button type="button" key={ms} aria-pressed={wanted === ms} onClick={() => setSpan(ms)}>
                  {words}
                </button>
              ))}
            </RiverPanel>
            <Flows
              frames={frames}
              shares={shares}
              colourOf={colourOf}
              detailOf={(row, override) => <Detail row={row} override={override} connection={connection} />}
            />
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

const root = document.querySelector<HTMLElement>('#console')
if (root !== null) {
  drawSafely()
  root.textContent = ''
  render(<App connection={connect()} />, root)
}
