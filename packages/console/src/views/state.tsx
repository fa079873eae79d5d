import type { JSX } from 'preact'
import type { Frame } from '../frame.js'
import { number, percent, rate, type Shares, type State } from './view.js'

/** The state in a sentence, and six numbers. */
export function StateBanner({
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
