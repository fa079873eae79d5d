import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Frame, RecordFrame } from '../frame.js'
import { ceiling, River } from '../views/charts.js'
import { count, duration, number, percent, riverOf, type Shares, servedBy, shortened } from '../views/view.js'
import type { PageConnection } from './connection.js'
import type { ReplayAnswer, ReplayQuestion } from './what-if-worker.js'

/** Shortest recording that is conclusive, in seconds. */
const LEAST = 10
const FLOWS = 6
const RULES = [
  ['', 'as it was'],
  ['fair', 'FAIR: refuses beyond the share'],
  ['queue', 'a queue in fair turns'],
  ['none', 'no limiter'],
] as const

interface Props {
  readonly connection: PageConnection
  readonly frames: readonly Frame[]
  readonly shares: Shares
  readonly recording: boolean
  readonly setRecording: (on: boolean) => void
  readonly records: readonly RecordFrame[]
  readonly recordedFromMs: number | undefined
}

/** Replays the recording with other weights, another capacity, or another rule. */
export function WhatIf(props: Props): JSX.Element {
  const { connection, frames, shares, recording, setRecording, records, recordedFromMs } = props
  const [factor, setFactor] = useState('100')
  const [rule, setRule] = useState('')
  const [weights, setWeights] = useState<Readonly<Record<string, string>>>({})
  const [progress, setProgress] = useState<number | undefined>()
  const [result, setResult] = useState<Extract<ReplayAnswer, { type: 'done' }> | undefined>()
  const [wrong, setWrong] = useState('')
  const worker = useRef<Worker | undefined>(undefined)
  useEffect(() => () => worker.current?.terminate(), [])
  const loud = [...shares.flows].sort((a, b) => b.asked - a.asked).slice(0, FLOWS)
  const requests = records.reduce((sum, { rows }) => sum + rows.length / 5, 0)
  const run = (): void => {
    const capacityFactor = Number(factor) / 100
    const changed = Object.entries(weights)
      .filter(([, text]) => text !== '')
      .map(([flow, text]) => [flow, Number(text)] as const)
    if (!(capacityFactor > 0) || changed.some(([, weight]) => !(weight > 0))) {
      setWrong('Capacity and weights must be above 0.')
      return
    }
    setWrong('')
    setProgress(0)
    worker.current?.terminate()
    const replayer = new Worker(connection.workerUrl, { type: 'module' })
    worker.current = replayer
    replayer.onmessage = ({ data }: MessageEvent<ReplayAnswer>) => {
      if (data.type === 'progress') setProgress(data.part)
      else {
        setProgress(undefined)
        replayer.terminate()
        if (data.type === 'done') setResult(data)
        else setWrong(data.message)
      }
    }
    replayer.onerror = () => {
      setProgress(undefined)
      setWrong('The replay could not be loaded.')
    }
    const during = frames.filter(({ atMs }) => recordedFromMs !== undefined && atMs >= recordedFromMs)
    const question: ReplayQuestion = {
      records,
      frames: during,
      rule: rule === '' ? undefined : (rule as ReplayQuestion['rule']),
      capacityFactor,
      weights: changed,
    }
    replayer.postMessage(question)
  }
  return (
    <section aria-labelledby="what-if">
      <div class="head">
        <h2 id="what-if">What if</h2>
        <p>the last ten minutes again, in this browser, with other weights, capacity or rule</p>
        <button type="button" class="push" aria-pressed={recording} onClick={() => setRecording(!recording)}>
          {recording ? 'Stop recording' : 'Record'}
        </button>
      </div>
      {records.length === 0 && (
        <p class="empty">
          {recording
            ? 'Recording.'
            : 'Nothing was recorded: what is asked from now on is kept in this page, while you record.'}
        </p>
      )}
      {records.length > 0 && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            run()
          }}
        >
          <p class="small soft" data-recorded={records.length}>
            {count(requests, 'request')} of {duration(1_000 * records.length)} recorded.
          </p>
          <div class="fields">
            <label>
              capacity, % of what it was
              <input
                type="number"
                min="1"
                max="1000"
                value={factor}
                onInput={(event) => setFactor(event.currentTarget.value)}
              />
            </label>
            <label>
              rule
              <select value={rule} onChange={(event) => setRule(event.currentTarget.value)}>
                {RULES.map(([value, words]) => (
                  <option key={value} value={value}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
            {loud.map(({ flow, weight }) => (
              <label key={flow}>
                weight of {shortened(flow, 20)}
                <input
                  type="number"
                  min="0.001"
                  step="any"
                  placeholder={number(weight)}
                  value={weights[flow] ?? ''}
                  onInput={(event) => setWeights({ ...weights, [flow]: event.currentTarget.value })}
                />
              </label>
            ))}
            <button type="submit" disabled={progress !== undefined || records.length < LEAST}>
              {progress !== undefined
                ? `Replays: ${percent(progress)}`
                : records.length < LEAST
                  ? `In ${duration(1_000 * (LEAST - records.length))}`
                  : 'Replay'}
            </button>
          </div>
          <div role="status">{wrong}</div>
        </form>
      )}
      {result && <Result result={result} />}
    </section>
  )
}

function Result({ result }: { result: Extract<ReplayAnswer, { type: 'done' }> }): JSX.Element {
  const { asItWas, ifSo, dropped } = result
  const [before, after] = useMemo(() => [servedBy(asItWas), servedBy(ifSo)], [asItWas, ifSo])
  const flows = [...before.keys()]
    .filter((flow) => flow !== '')
    .sort((a, b) => before.get(b)! - before.get(a)!)
    .slice(0, FLOWS)
  const all = [asItWas, ifSo].map((frames) => riverOf(frames, flows))
  const tops = all.flat().map(({ served, refused }) => [...served, ...refused].reduce((sum, each) => sum + each, 0))
  const most = ceiling(Math.max(1, ...tops))
  const span = Math.max(10_000, 1_000 * (asItWas.length - 1))
  const rows = [['', 'all together'] as const, ...flows.map((flow) => [flow, flow] as const)]
  return (
    <div id="replayed">
      <div class="twins">
        {all.map((points, i) => (
          <div key={i === 0 ? 'was' : 'if'}>
            <h3>{i === 0 ? 'as it was, replayed' : 'if so'}</h3>
            <River
              points={points}
              flows={flows}
              colours={flows.map((_, each) => each)}
              span={span}
              height={220}
              most={most}
              label={i === 0 ? 'Served and refused, as it was' : 'Served and refused, if so'}
            />
          </div>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <div class="scroll" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">served, in units of cost</th>
              <th scope="col">as it was</th>
              <th scope="col">if so</th>
              <th scope="col">change</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([flow, words], i) => {
              const was = before.get(flow) ?? 0
              const would = after.get(flow) ?? 0
              return (
                <tr key={flow} data-replayed={flow}>
                  <td>
                    {i > 0 && <span class="swatch" style={{ background: `var(--c${i - 1})` }} />}
                    {words}
                  </td>
                  <td data-value={was}>{number(was)}</td>
                  <td data-value={would}>{number(would)}</td>
                  <td>{was > 0 ? change(would / was - 1) : '–'}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {dropped > 0 && <p class="small soft">{count(dropped, 'request')} came too fast to be recorded.</p>}
    </div>
  )
}

/** A replay cannot resolve a change below half a percent. */
function change(by: number): string {
  if (Math.abs(by) < 0.005) return 'none'
  return `${by > 0 ? '+' : '−'}${percent(Math.abs(by))}`
}
