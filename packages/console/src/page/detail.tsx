import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { OverrideFrame } from '../frame.js'
import { Fact } from '../views/panels.js'
import { duration, type FlowShare, number, rate } from '../views/view.js'
import { overrideWords, whyOf } from '../views/words.js'
import { type PageConnection, useExplanation } from './connection.js'

const TIMES: readonly (readonly [string, number])[] = [
  ['5 minutes', 300_000],
  ['30 minutes', 1_800_000],
  ['2 hours', 7_200_000],
]

/** Explains whether a flow's next request would be admitted, and offers actions. */
export function Detail({
  row,
  override,
  connection,
}: {
  row: FlowShare
  override: OverrideFrame | undefined
  connection: PageConnection
}): JSX.Element {
  const explanation = useExplanation(connection, row.flow)
  const [forMs, setForMs] = useState(1_800_000)
  const [said, setSaid] = useState('')
  useEffect(() => setSaid(''), [row.flow])
  const act = async (kind: string, parameters: Record<string, string> = {}): Promise<void> => {
    setSaid(await connection.act(kind, row.flow, { forMs: String(forMs), ...parameters }))
  }
  const sentences = explanation === undefined ? ['Asking…'] : whyOf(explanation)
  return (
    <div class="detail">
      <div>
        {sentences.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        {sentences.length === 0 && <p class="soft">The stages have nothing to say about it.</p>}
        {connection.canAct && (
          <div class="acts">
            <label class="small">
              For{' '}
              <select
                value={forMs}
                onChange={(event) => setForMs(Number((event.currentTarget as HTMLSelectElement).value))}
              >
                {TIMES.map(([words, ms]) => (
                  <option key={ms} value={ms}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
            <button type="button" onClick={() => act('boost', { factor: '2' })}>
              Boost ×2
            </button>
            <button
              type="button"
              disabled={!(row.entitled > 0)}
              onClick={() => act('hold', { costPerSecond: String(row.entitled) })}
            >
              Hold at {rate(row.entitled)}
            </button>
            <button type="button" class="danger" onClick={() => act('block')}>
              Block
            </button>
            {override && (
              <button type="button" onClick={() => act('clear')}>
                Undo: {overrideWords({ ...override }).toLowerCase()}
              </button>
            )}
            <span role="status" class="soft small">
              {said}
            </span>
          </div>
        )}
      </div>
      <dl>
        <Fact name="asked" value={rate(row.asked)} />
        <Fact name="fair share" value={rate(row.entitled)} />
        <Fact name="served" value={rate(row.served)} />
        <Fact name="refused" value={rate(row.refused)} />
        <Fact name="failed" value={rate(row.failed)} />
        <Fact name="weight" value={number(row.weight)} />
        <Fact name="credit" value={row.credit === null ? '–' : `${number(row.credit).replace('-', '−')} requests`} />
        <Fact
          name="wait p50 / p99"
          value={row.wait.count === 0 ? '–' : `${duration(row.wait.p50)} / ${duration(row.wait.p99)}`}
        />
      </dl>
    </div>
  )
}
